package lockstate

import "time"

// Config is what a Client has fixed for all its locks.
type Config struct {
	Lease    time.Duration // of a renewed hold
	MaxHold  time.Duration // after which a hold is not renewed any more; 0: no limit
	Handoff  Handoff
	Replicas int // how many have to confirm a grant
}

// Handoff says how a lock goes from one owner of a Client to the next.
type Handoff int8

const (
	Never       Handoff = iota // a release frees the lock, and all Clients compete for it
	Confirmed                  // one command moves the field in Redis to the next owner
	WriteBehind                // the next owner goes on with the lease; the field is synced later
)

// Engine is what a State has the engine do for the lock, inside the critical section.
type Engine interface {
	// Ownership makes an ownership that goes on with a lease, or one with a lease of its own if that is
	// nil. The engine has announced it to Close.
	Ownership(of *Lease) *Ownership

	// CleanUp frees, in the background, the field that Redis may have for an owner, until Redis has
	// confirmed or the time is over. With a parting it leaves the lock to nobody instead.
	CleanUp(owner string, to *Parting, until time.Time)

	// Shares is told of the root of a shared lease.
	Shares(root *Ownership)

	// EndAt calls State.FixedHoldsOver at that time, unless the Client closes before.
	EndAt(o *Ownership, at time.Time)

	// FreeAt calls State.FixedLeaseOver at that time, unless the Client closes before.
	FreeAt(l *Lease, at, until time.Time)

	// RepairCount sends the hold count, in the background, after a command for it was not answered.
	RepairCount(o *Ownership)

	// LeaveRegistry takes the Client out of the registry of waiters, in the background.
	LeaveRegistry()

	// LineUp tells Redis of the newcomers in the line of a fair lock, and LeaveLine of the departed, in the
	// background.
	LineUp()
	LeaveLine()

	// SyncField has the field in Redis follow the holder, in the background.
	SyncField()

	// Listen subscribes to the Client's wake-ups, and StopListening ends that.
	Listen()
	StopListening()

	// Remember keeps a loss among the losses of the Client, which bounds their number. renewed: one of
	// the lost holds was renewed. Forget drops it. It reports false if the Client has dropped it already.
	Remember(l *Losses, renewed bool)
	Forget(l *Losses) bool
}

// State is all that one Client knows of one lock. The caller guards it with a mutex.
type State struct {
	cfg    *Config
	engine Engine

	owners  []*Ownership // live or releasing; more than one only if they are Shared
	room    [1]*Ownership
	shared  *sharedLease // its root is one of the owners; nil: there is none
	waiting waitQueue
	losses  map[string]*Losses // by owner
	budget  budget
	outage  outage
	arrival int64 // in Redis' registry of waiters; 0: the Client is not in it

	// grantees are the owners to whom a release of any Client may have granted the lock: attempts have
	// registered the Client for them, and no later command has settled what became of that.
	grantees []string

	departed []string // tickets whose waiters have left, and that may be in the line of a fair lock

	busy    bool // the waiters' last attempt found another owner
	closing bool // nothing new is granted
}

// Init makes an empty state. closing: the Client is closing already.
func (s *State) Init(cfg *Config, engine Engine, closing bool) {
	*s = State{cfg: cfg, engine: engine, closing: closing}
	s.owners = s.room[:0]
}

// Close has the state grant nothing any more, and each waiter look at that.
func (s *State) Close() {
	s.closing = true
	for w := s.waiting.first; w != nil; w = w.next {
		w.Call.Notify()
	}
}

// Abandon ends the live ownerships when Close gives up, and returns them.
func (s *State) Abandon(now time.Time) (ended []*Ownership) {
	for i := 0; i < len(s.owners); {
		if o := s.owners[i]; o.state == Live {
			why, shared := Ending{How: Closed, At: now}, o.lease.shared
			s.end(o, why)
			if shared == nil {
				ended = append(ended, o)
				continue
			}
			ended = append(ended, shared.sorted()...)
			s.endReaders(shared, why)
			continue
		}
		i++
	}
	return ended
}

// Waiting returns the first waiter; [Waiter.Next] returns the one behind it.
func (s *State) Waiting() *Waiter { return s.waiting.first }

// Arrival is the Client's arrival in the registry of waiters, and 0 if it is not in it.
func (s *State) Arrival() int64 { return s.arrival }

// NeedsLeave reports whether the Client is in the registry of waiters and no call waits.
func (s *State) NeedsLeave() bool { return s.arrival != 0 && s.waiting.first == nil }

// Left notes that the Client is out of the registry of waiters.
func (s *State) Left() { s.arrival, s.grantees = 0, nil }

// Grantees are the owners but that one to whom a release may have granted the lock. While the engine has
// the turn and no owner of this Client has the lock, none of them has, or waits for that grant any more.
func (s *State) Grantees(but string) (departed []string) {
	for _, owner := range s.grantees {
		if owner != but {
			departed = append(departed, owner)
		}
	}
	return departed
}

// leaveRegistry has the Client leave the registry of waiters once no call waits here.
func (s *State) leaveRegistry() {
	if s.arrival != 0 && s.waiting.first == nil && !s.exclusive() {
		s.engine.LeaveRegistry()
	}
}
