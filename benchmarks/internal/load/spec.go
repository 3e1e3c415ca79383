package load

import (
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/clock"
)

// Kind is what the goroutines do.
type Kind string

const (
	Turns    Kind = "turns"     // lock, hold, unlock, again and again
	PingPong Kind = "ping-pong" // two processes of one goroutine pass one lock to and fro
	Held     Kind = "held"      // take many locks and keep them
	Crowd    Kind = "crowd"     // many goroutines wait for one lock that this program holds at first
	Churn    Kind = "churn"     // lock and unlock many names, each once
)

// Spec is the work of one process.
type Spec struct {
	Kind       Kind
	Peer       string
	Addr       string // of Redis
	Name       string // of the lock, or the beginning of the names of a lock each
	Goroutines int
	OwnLocks   bool          // a lock for each goroutine
	Hold       time.Duration // how long each holds it
	Unchecked  bool          // for a peer that excludes nobody
	Words      string        // the file of package shared
	Process    int           // which of the processes this is, from 0
	Locks      int           // Held: how many; Churn: how many names
	Lease      time.Duration // Held: of the locks, renewed each third of it
	Total      int           // Crowd: waiters in all processes
	Rest       time.Duration // Crowd, Churn: after the work, before what is left behind is looked at
	Stay       bool          // do not exit: what is left on the server is looked at first
}

// Window is the time that is measured.
type Window struct{ Start, End clock.Instant }

// Length is the time between start and end.
func (w Window) Length() time.Duration { return w.End.Sub(w.Start) }

// Recording is what one process has seen.
type Recording struct {
	Goroutines []Served
	Handoffs   []Handoff // PingPong
	Violations int       // how often somebody else was inside
	Held       *Keeping  // Held
	Cost       *Cost     // Crowd, Churn
}

// Served is what one goroutine got. A wait is counted when it ends within the
// window; one that the end of the window cuts off is in Waits with the time it had
// lasted, and not in Acquired: the goroutine that is never served must be seen.
type Served struct {
	Acquired int
	Waits    []time.Duration
}

// Handoff is one hold that both sides of a ping-pong are needed to judge.
type Handoff struct {
	Process   int
	Got, Left clock.Instant // Left is just before the release
}
