//go:build unix

// Package clock reads one clock for all processes of a benchmark.
package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// Instant is a reading of CLOCK_MONOTONIC in nanoseconds. Processes of one machine
// may compare theirs.
type Instant int64

// base and origin are the same moment, once as Go's monotonic clock has it and once
// as the kernel's. Both clocks advance together; Go's is read without a system call.
var base, origin = align()

// align reads one clock between two readings of the other, several times, and
// takes the closest: the process may be interrupted in between.
func align() (time.Time, Instant) {
	var base time.Time
	var origin Instant
	closest := time.Hour
	for range 20 {
		before := time.Now()
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
			panic(err) // every unix that Go runs on has this clock
		}
		if took := time.Since(before); took < closest {
			closest, base = took, before.Add(took/2)
			origin = Instant(ts.Nano())
		}
	}
	return base, origin
}

// Now is the time on the shared clock.
func Now() Instant { return origin + Instant(time.Since(base)) }

// Of converts a reading of the wall clock, taken on this machine a short while ago.
func Of(wall time.Time) Instant {
	now := time.Now()
	return Now() - Instant(now.Round(0).Sub(wall.Round(0)))
}

// Add is the instant so much later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub is the time from j to i.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i - j) }

// Until is the time that is left until i.
func (i Instant) Until() time.Duration { return i.Sub(Now()) }

// Sleep returns at i.
func (i Instant) Sleep() { time.Sleep(i.Until()) }
