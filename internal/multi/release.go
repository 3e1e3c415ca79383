package multi

import (
	"context"
	"time"
)

// releaseWithin is how long a release waits for Redis' confirmation if ctx has no deadline to come.
const releaseWithin = 5 * time.Second

// UntilReleased returns the ctx that a release waits with. It has the values of ctx. It ends after
// [ReleaseTime]. A cancellation of ctx does not end it. A ctx that never ends, such as
// [context.Background], is returned as it is. The caller calls cancel when it waits no more.
//
// The ctx of a release has ended more often than not: SIGTERM, a request whose client is gone, the
// ctx of the hold itself, which the release ends. A release that did not wait then would leave its
// command to a connection that the program is about to close, and the lock to its lease.
func UntilReleased(ctx context.Context) (_ context.Context, cancel context.CancelFunc) {
	if ctx.Done() == nil {
		return ctx, func() {} // its command runs on the caller's goroutine, which costs half
	}
	return context.WithTimeout(context.WithoutCancel(ctx), ReleaseTime(ctx))
}

// ReleaseTime is how long a release with ctx waits: until the deadline of ctx if that is still to come,
// and otherwise 5 s.
func ReleaseTime(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		if left := time.Until(deadline); left > 0 {
			return left
		}
	}
	return releaseWithin
}
