package watchdog

import "time"

// Drift is the part of a lease that is not trusted: 1 % and 2 ms. It is Redlock's allowance for
// clocks that run at different speeds, and for Redis' expiry, which counts whole milliseconds.
func Drift(lease time.Duration) time.Duration {
	return lease/100 + 2*time.Millisecond
}

// Validity returns the instant until which a lease may be trusted that a command has taken or
// renewed. sent is the time before the command was sent, not the time of its answer: Redis counts
// from when it ran the command, which may be any instant between the two. For leases of 2 ms and less
// the result is not after sent.
func Validity(sent time.Time, lease time.Duration) time.Time {
	return sent.Add(lease - Drift(lease))
}

// Passed reports whether the instant t is over, by the monotonic clock or by the wall clock if that
// moved further. Go's monotonic clock stands still while a virtual machine is suspended
// (golang/go#24595), and Redis' clock does not. A wall clock that is set forward makes a lease end
// early. One that is set back changes nothing. Neither makes it end late.
func Passed(t time.Time) bool { return Left(t, time.Now()) <= 0 }

// Left is the time from now until t, by the clock that leaves less. It is 0 or less exactly if t has
// passed.
func Left(t, now time.Time) time.Duration { return left(t, now, wallOf(now)) }

// left is Left for a given reading of both clocks. All code that asks whether a lease is over uses
// it.
func left(t, now, wall time.Time) time.Duration {
	// Sub goes by the monotonic readings if both times have one; Round(0) strips them.
	return min(t.Sub(now), t.Round(0).Sub(wall))
}

func wallOf(now time.Time) time.Time { return now.Round(0) }
