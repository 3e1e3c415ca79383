package reentrant

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/multi"
)

// releaseWait is [multi.UntilReleased] for each release of a Client, without the price of a ctx with a
// deadline. waiting never ends. The timer, which may be nil, is the limit, and the caller gives it back.
func (c *Client) releaseWait(ctx context.Context) (waiting context.Context, timer *time.Timer) {
	if ctx.Done() == nil {
		return ctx, nil
	}
	d := multi.ReleaseTime(ctx)
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
