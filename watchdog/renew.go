package watchdog

import (
	"context"
	"errors"
	"time"
)

// RenewFunc asks Redis to extend the time to live of every target to lease, never to shorten it,
// where the owner is still the target's. It returns one Result per target, in their order; missing
// ones count as Failed. RenewFunc may keep the slice targets.
//
// ctx ends when the watchdog gives the call up, after a sixth of the lease, and at Close. RenewFunc
// may block for longer, but after a lease its answer is worth nothing. All its targets wait for the
// slowest one: where they are spread over several servers, RenewFunc should return when ctx ends,
// with the results it has and Failed for the rest. Otherwise one server that is down delays the
// renewals on all others.
//
// It runs on a helper goroutine. Up to four calls are under way at a time, besides calls whose ctx
// has ended, of which 32 may exist. A panic in it counts as Failed for all targets.
type RenewFunc func(ctx context.Context, targets []Target, lease time.Duration) []Result

// Result is the result for one target.
type Result struct {
	Outcome Outcome
	Err     error // set when Failed
}

// Outcome is the kind of a Result.
type Outcome int

// The zero Outcome is none of these and counts as Failed: a Result that was never filled in cannot
// pass for a renewal.
const (
	Renewed  Outcome = iota + 1 // Redis has extended the lease
	NotOwner                    // Redis said that the target's owner does not hold the key
	Failed                      // it is not known whether Redis did either
)

func (o Outcome) String() string {
	switch o {
	case Renewed:
		return "renewed"
	case NotOwner:
		return "not owner"
	case Failed:
		return "failed"
	}
	return "unknown outcome"
}

// ErrNoAnswer is the error that OnFailure gets when a call of RenewFunc was given up: it did not come
// back within a sixth of the lease, or within 50 ms if that is more.
var ErrNoAnswer = errors.New("watchdog: no answer to a renewal in time")
