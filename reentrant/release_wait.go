package reentrant

import (
	"context"
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
	if deadline, ok := ctx.Deadline(); ok {
		if left := time.Until(deadline); left > 0 {
			return left
		}
	}
	return releaseWithin
}

// releaseWait is UntilReleased for each release of a Client, without the price of a ctx with a
// deadline: waiting has no end, and the timer, which may be nil, is the limit. The caller gives it back.
func (c *Client) releaseWait(ctx context.Context) (waiting context.Context, timer *time.Timer) {
	if ctx.Done() == nil {
		return ctx, nil
	}
	d := releaseTime(ctx)
	timer, spare := c.timers.Get().(*time.Timer)
	if spare {
		timer.Reset(d)
	} else {
		timer = time.NewTimer(d)
	}
	return context.WithoutCancel(ctx), timer
}

func (c *Client) giveTimer(timer *time.Timer) {
	timer.Stop() // and its channel is empty then, since Go 1.23
	c.timers.Put(timer)
}
