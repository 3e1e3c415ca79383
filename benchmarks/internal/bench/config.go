package bench

import (
	"regexp"
	"time"
)

// Config says what is run and for how long.
type Config struct {
	Slice   time.Duration  // of which each peer has one in each sweep
	Lead    time.Duration  // work before each slice that does not count
	Sweeps  int            // of slices; for each workload
	For     time.Duration  // each window, for what a slice is too short for
	Warm    time.Duration  // work before each window
	WarmJVM time.Duration  // before the first of a workload
	Rounds  int            // of windows; peers take turns, round by round
	Only    *regexp.Regexp `json:"-"` // workloads, nil for all
	Peers   []string       // nil for all
	Locks   int            // held at once, in many-held
	Lease   time.Duration  // theirs
	Waiters int            // for one lock, in crowd and crowd-spread
	Names   int            // in churn
	Rest    time.Duration  // before what is left behind is looked at; a subscription outlives its last waiter by a second
	Jar     string         `json:"-"` // the Java program; empty leaves Redisson out

	// Progress is told before each step what is to come.
	Progress func(done, total int, what string) `json:"-"`
}
