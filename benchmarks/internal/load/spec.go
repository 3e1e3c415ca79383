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
	OwnClients bool          // a Client for each goroutine, of Turns
	Nested     bool          // each takes its lock once more, outside of what is counted
	Traffic    time.Duration // two goroutines of another Client hold each member of the lock so long, in turn
	Hold       time.Duration // how long each holds it
	WriterOf   int           // of so many goroutines one writes, whose waits alone are kept, and the others read; 0: all are alike
	Unchecked  bool          // for a peer that excludes nobody
	Words      string        // the file of package shared
	Process    int           // which of the processes this is, from 0
	Locks      int           // Held: how many; Churn: how many names
	Readers    bool          // Held: so many readers of one lock, instead of so many locks
	Lease      time.Duration // Held: of the locks, renewed each third of it
	Total      int           // Crowd: waiters in all processes
	Rest       time.Duration // Crowd, Churn: after the work, before what is left behind is looked at
}

// Window is the time that is measured. The work begins as soon as the window is known
// and goes on until its end.
type Window struct {
	Start, End clock.Instant
	Brief      bool // a slice: what is acquired is counted, and the waits are not kept
}

// Length is the time between start and end.
func (w Window) Length() time.Duration { return w.End.Sub(w.Start) }
