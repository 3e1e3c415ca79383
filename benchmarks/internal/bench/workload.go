//go:build unix

// Package bench runs the workloads with each peer in turn and sums up what came of
// it.
package bench

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/load"
)

// Workload is a row of the table: the same work for all peers.
type Workload struct {
	Name       string
	Title      string
	Kind       load.Kind
	Processes  int
	Goroutines int // in each process
	OwnLocks   bool
	OwnClients bool // a Client for each goroutine
	Hold       time.Duration
	Traffic    time.Duration // of other goroutines that hold each member of the lock so long
	Also       []string      // special peers that take part
	Alone      []string      // these peers take part, and no others
	Unsliced   bool          // what is measured takes longer than a slice
	Split      int           // windows are so many times as many, and as short; 0 is 1
	WriterOf   int           // of so many goroutines one writes, and the waits are the writers'
	Thirds     bool          // one round, and a third of the sweeps: for rows that say little with each peer more
	Goals      []Goal

	// A workload of scale is run at two sizes, by Redlatch alone.
	size    func(Config) int
	of      string // what size counts
	note    func(Config) string
	measure func(r *runner, ctx context.Context, w Workload, size int) ([]sample, error)
	Once    bool // not in every round
	readers bool // of one lock, instead of many locks
}

// others are the peers whose locks are not in Redis. Redlatch's goals are about those on
// Redis; these stand beside them in the tables.
var others = []string{"etcd", "etcd-no-fsync", "postgresql"}

// Workloads are those of docs/benchmarks.md.
func Workloads() []Workload {
	return append(plainWorkloads(), kindWorkloads()...)
}

// plainWorkloads are those of plain locks, the only kind that the others have, too.
func plainWorkloads() []Workload {
	return []Workload{
		{
			Name: "free", Title: "lock + unlock, free lock, 1 goroutine",
			Kind: load.Turns, Processes: 1, Goroutines: 1, OwnLocks: true,
			// All four of the other servers: what the disk costs shows where nobody waits.
			Also:  append([]string{"evalsha-empty", "evalsha-set", "postgresql-no-fsync"}, others...),
			Goals: []Goal{faster("redlatch", 0.95, "evalsha-empty"), faster("redlatch", 0.95, "evalsha-set")},
		},
		{
			Name: "own-locks", Title: "256 goroutines, a lock each",
			Kind: load.Turns, Processes: 1, Goroutines: 256, OwnLocks: true,
			Also:  append([]string{"evalsha-empty", "evalsha-set"}, others...),
			Goals: []Goal{faster("redlatch", 2, "redsync"), faster("redlatch", 1, "rueidislock")},
		},
		{
			Name: "one-process", Title: "64 goroutines, one lock, one process",
			Kind: load.Turns, Processes: 1, Goroutines: 64,
			Also: append([]string{"redlatch-write-behind"}, others...),
			Goals: []Goal{
				faster("redlatch", 2, bestPeer), sooner("redlatch", 1.0/20),
				faster("redlatch-write-behind", 100, bestPeer),
			},
		},
		{
			Name: "processes", Title: "8 processes x 8 goroutines, one lock",
			Kind: load.Turns, Processes: 8, Goroutines: 8,
			Also: append([]string{"redlatch-write-behind"}, others...),
			Goals: []Goal{
				faster("redlatch", 1.5, bestPeer), sooner("redlatch", 1.0/3),
				faster("redlatch-write-behind", 10, bestPeer),
			},
		},
		{
			Name: "clients", Title: "64 Clients in 8 processes, one lock",
			// Each of 64 Clients subscribes before it can be told: a slice would end first.
			Kind: load.Turns, Processes: 8, Goroutines: 8, OwnClients: true, Unsliced: true,
			Also:  []string{"queue-bare"},
			Goals: []Goal{faster("redlatch", 1, bestPeer), sooner("redlatch", 1.0/10)},
		},
		{
			Name: "held-1ms", Title: "20 processes, one lock, held 1 ms",
			Kind: load.Turns, Processes: 20, Goroutines: 1, Hold: time.Millisecond,
			Also:  append([]string{"queue-bare"}, others...),
			Goals: []Goal{faster("redlatch", 1, bestPeer), scripts("redlatch", 2), sooner("redlatch", 1.0/3)},
		},
		{
			Name: "hand-off", Title: "unlock -> another process holds",
			Kind: load.PingPong, Processes: 2, Goroutines: 1, Hold: 7 * time.Millisecond, Unsliced: true, Split: 2,
			Also: append([]string{"queue-bare", "redlatch-write", "redlatch-fair"}, others...),
			Goals: []Goal{
				restedPings("redlatch", 1.5), sameHandOff("redlatch", 1.25, "queue-bare"),
				sameHandOff("redlatch-write", 1.1, "redlatch"),
			},
		},
		{
			Name: "multilock", Title: "MultiLock of locks that two goroutines each hold for 8 ms in turn",
			Kind: load.Turns, Processes: 1, Goroutines: 1, Traffic: 8 * time.Millisecond, Unsliced: true,
			Also: []string{"redlatch-multilock-2", "redlatch-multilock-3"},
		},
		{
			Name: "crowd", Title: "many waiters for one lock, one process",
			Kind: load.Crowd, Processes: 1,
			of: "waiters", size: func(c Config) int { return c.Waiters }, note: restNote, measure: (*runner).crowd,
		},
		{
			Name: "crowd-spread", Title: "many waiters for one lock, ten processes",
			Kind: load.Crowd, Processes: 10,
			of: "waiters", size: func(c Config) int { return c.Waiters }, note: restNote, measure: (*runner).crowd,
		},
		{
			Name: "churn", Title: "many names, each locked and unlocked once, 64 goroutines",
			Kind: load.Churn, Processes: 1, Goroutines: 64,
			of: "names", size: func(c Config) int { return c.Names }, note: restNote, measure: (*runner).churn,
		},
		{
			Name: "many-held", Title: "many held locks, renewed",
			Kind: load.Held, Processes: 1, Once: true,
			of: "locks", size: func(c Config) int { return c.Locks }, note: heldNote, measure: (*runner).held,
		},
	}
}
