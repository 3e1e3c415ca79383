package history

import (
	"fmt"
	"time"
)

// Instant is a reading of a log's monotonic clock: nanoseconds since the log was made.
type Instant int64

// Never is later than every instant that a log gives.
const Never Instant = 1<<63 - 1

// Add returns the instant d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub returns the time from j to i.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i - j) }

func (i Instant) String() string {
	if i == Never {
		return "never"
	}
	return time.Duration(i).Round(time.Microsecond).String()
}

// Kind is what an operation was.
type Kind string

const (
	Acquire Kind = "acquire" // a call that takes the lock, or takes it again
	Release Kind = "release" // a call that gives one hold back
	Lost    Kind = "lost"    // a hold's owner was told that it is lost; Call and Return are that instant
	Renewed Kind = "renewed" // a hold's validity was moved on
	Counted Kind = "counted" // a look at the hold count in Redis: Want and Got
	Lined   Kind = "lined"   // a look at the line of a fair lock that has found the waiter with that Field for the first time
)

// Outcome is how an operation ended.
type Outcome string

const (
	OK      Outcome = "ok"
	Refused Outcome = "refused" // answered no: the lock is busy, or was not held
	Gone    Outcome = "lost"    // the hold was lost before
	Closed  Outcome = "closed"  // the hold ended with its Client, and expires in Redis
	Unknown Outcome = "unknown" // it may have been done, or may be done yet
)

// Side is how a read-write lock is wanted. Other locks have none.
type Side string

const (
	Reading Side = "read"
	Writing Side = "write"
)

// Op is one operation on a lock. Fields that do not belong to its kind are zero.
type Op struct {
	ID     int64 // of the record; rises with Call
	Kind   Kind
	Client int    // who called
	Owner  string // for whom; unique to the client
	Lock   string
	Side   Side  // of an Acquire of a read-write lock
	Hold   int64 // the hold that an Acquire made, and that the other kinds are about

	Call    Instant
	Return  Instant // Never: it has not returned
	Outcome Outcome

	Nested     bool          // an Acquire by an owner that knows that it holds the lock
	Fixed      bool          // an Acquire whose lease is not renewed
	Must       bool          // an Acquire that nothing cancels: it fails only for a reason
	Behind     bool          // an Acquire that may be granted by a write-behind hand-off
	Lease      time.Duration // asked for by an Acquire
	Wait       time.Duration // limit of an Acquire; negative: none
	Token      int64         // of an Acquire with fencing
	ValidUntil Instant       // as it was at Return of an Acquire or Renewed, and before a Release or Lost

	Field string // of a Lined, and of an Acquire by an owner that acquires once: the owner's field in Redis

	Want int            // the hold count that the owner has
	Got  map[string]int // hold counts in Redis, by the owner's field
	Note string         // the error, or whatever helps to understand the record
}

// Returned reports whether the call has come back.
func (o Op) Returned() bool { return o.Return != Never }

func (o Op) String() string {
	s := fmt.Sprintf("%v %s of %s by %s (hold %d): %s", o.Call, o.Kind, o.Lock, o.Owner, o.Hold, o.Outcome)
	if o.Token != 0 {
		s += fmt.Sprintf(", token %d", o.Token)
	}
	if o.Note != "" {
		s += ", " + o.Note
	}
	return s
}

// Fault is a disturbance in [Start, End].
type Fault struct {
	ID    int64 // of the record
	Kind  string
	Start Instant
	End   Instant // Never: it goes on

	// Client is the one whose connections are disturbed; Everyone if it is the server.
	Client int

	// Outlasts says that renewals may have failed for long enough to lose a hold.
	Outlasts bool

	// Refused says that new connections were refused. After as many failed dials as its pool
	// has connections, counted since it last stopped, go-redis does not dial for up to a second
	// more (ConnPool.tryDial), so that a client whose connections are cut meanwhile has none.
	Refused bool

	// Forgets says that Redis has lost its locks in this window, or only Lock if
	// that is not empty.
	Forgets bool
	Lock    string

	// Starved says that the clients' own process did not run as it should.
	Starved bool

	Note string
}

// Everyone is the Client of a fault of the server.
const Everyone = -1

// Touches reports whether the fault was on at some time in [from, until].
func (f Fault) Touches(from, until Instant) bool { return f.Start <= until && f.End >= from }

func (f Fault) String() string {
	s := fmt.Sprintf("%v to %v %s", f.Start, f.End, f.Kind)
	if f.Client != Everyone {
		s += fmt.Sprintf(" at client %d", f.Client)
	}
	if f.Note != "" {
		s += " (" + f.Note + ")"
	}
	return s
}
