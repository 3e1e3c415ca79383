package reentrant

import (
	"context"
	"sync"
	"time"
)

// releaseWithin is how long a release waits for Redis' confirmation if ctx has no deadline to come.
const releaseWithin = 5 * time.Second

// UntilReleased returns the ctx that a release waits with, for package multilock; programs do not
// need it. It has the values of ctx. It ends at the deadline of ctx if that is still to come, and
// otherwise 5 s from now. A cancellation of ctx does not end it. A ctx that never ends, such as
// [context.Background], is returned as it is. The caller calls cancel when it waits no more.
//
// The ctx of a release has ended more often than not: SIGTERM, a request whose client is gone, the
// ctx of the hold itself, which the release ends. A release that did not wait then would leave its
// command to a connection that the program is about to close, and the lock to its lease.
func UntilReleased(ctx context.Context) (_ context.Context, cancel context.CancelFunc) {
	if ctx.Done() == nil {
		return ctx, func() {} // its command runs on the caller's goroutine, which costs half
	}
	return context.WithTimeout(context.WithoutCancel(ctx), releaseTime(ctx))
}

func releaseTime(ctx context.Context) time.Duration {
	if left := timeLeft(ctx); left > 0 {
		return left
	}
	return releaseWithin
}

// timeLeft is the time until ctx's deadline; 0 if ctx has none, or the deadline has passed.
func timeLeft(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return max(0, time.Until(deadline))
	}
	return 0
}

// releaseWait is UntilReleased for each release of a Client, without the price of a ctx with a
// deadline: waiting has no end, and limit fires instead. limit is nil if ctx never ends. The caller calls stop.
func (c *Client) releaseWait(ctx context.Context) (waiting context.Context, limit <-chan time.Time, stop func()) {
	if ctx.Done() == nil {
		return ctx, nil, func() {}
	}
	left := timeLeft(ctx)
	if left == 0 {
		return context.WithoutCancel(ctx), c.releaseLimits.next(), func() {}
	}
	timer := time.NewTimer(left)
	return context.WithoutCancel(ctx), timer.C, func() { timer.Stop() }
}

// releaseLimits are the limits of releases whose ctx has no deadline to come. Releases that begin within
// shareFor have one limit in common, the one of the first: a timer for each release made a hand-off among
// many goroutines 5 % slower.
type releaseLimits struct {
	mu    sync.Mutex
	last  chan time.Time // closed releaseWithin after it was made
	until time.Time      // releases that begin before then share it
}

const shareFor = 100 * time.Millisecond

// next returns a limit that fires in releaseWithin, or up to shareFor earlier.
func (l *releaseLimits) next() <-chan time.Time {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !now.Before(l.until) {
		limit := make(chan time.Time)
		time.AfterFunc(releaseWithin, func() { close(limit) })
		l.last, l.until = limit, now.Add(shareFor)
	}
	return l.last
}
