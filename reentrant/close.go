package reentrant

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// closeGrace is how long Close waits for the releases in flight after its ctx has ended. With it a
// program that gets SIGTERM leaves no lock behind, though it closes with the ctx that the signal has
// ended. Redis answers in a thousandth of that time. A silent Redis must not hold the program up for
// longer.
const closeGrace = time.Second

// Close shuts the Client down like http.Server.Shutdown, in three steps.
//
// First, waiting calls end at once with [ErrNotAcquired] and [ErrClosed]. A call whose ctx never ends,
// such as [context.Background], ends when its command under way does, at most go-redis' ReadTimeout
// later. Nothing new is granted; an owner that holds a lock may still re-enter it.
//
// Then Close waits until all holds are released and all commands have ended, or until ctx ends. After
// that, also if ctx had ended before the call, it gives 1 s more to what is on its way to free a lock.
// That is an Unlock or Release that has begun, and the giving back of a lock whose call has left. In that
// second it also takes the Client out of the registry of waiters. Holds that no call is releasing get no
// such second.
//
// At last renewal stops, and the ctx of the holds that are left ends with cause [ErrClosed]. Their locks
// expire in Redis within a lease. Every method returns [ErrClosed] from then on, a method that takes the
// lock together with [ErrNotAcquired]. A caller that holds a lock by [Lock.Lock] hears of it from Unlock
// only.
//
// Close returns an error that wraps ctx's cause if holds were left or something was still in flight after
// that second (go-redis bounds how long), otherwise nil. It may be called again, also at the same time.
// Give it a ctx with a limit: with a ctx that never ends it waits for ever for a hold that no call
// releases.
func (c *Client) Close(ctx context.Context) error {
	c.closeOnce.Do(func() {
		close(c.closing)
		c.eachState((*lockState).beginClose)
	})
	err := c.drain(ctx)
	if ctx.Err() != nil {
		cause := context.Cause(ctx)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(context.WithoutCancel(ctx), closeGrace, cause)
		defer cancel()
		c.finish(ctx)
		err = c.remains(cause)
	}
	if err == nil {
		c.nameRecord.delete(ctx)
	}

	c.closed.Store(true)
	c.stop()
	c.eachState((*lockState).abandon)
	rest := errors.Join(c.drain(ctx), c.watchdog.Close(ctx), c.renewer.wait(ctx), c.hub.Close(ctx))
	if rest == nil {
		c.workers.Wait() // nothing is in flight: the goroutines that are left wait for c.ctx
	}
	if err == nil {
		err = rest // otherwise ctx is over, and rest says no more than that
	}
	if err != nil {
		return fmt.Errorf("redlatch: close: %w", err)
	}
	return nil
}

// drain waits until there is no hold and no command in flight.
func (c *Client) drain(ctx context.Context) error {
	for c.work.Load() > 0 {
		select {
		case <-c.idle:
		case <-ctx.Done():
			return c.remains(context.Cause(ctx))
		}
	}
	c.signal(c.idle) // for another call of Close
	return nil
}

// finish waits until nothing is in flight, whatever is held. It need not wait for holds: no hold ends any
// more without a call that is in flight.
func (c *Client) finish(ctx context.Context) {
	c.finishing.Add(1)
	defer c.finishing.Add(-1)
	for c.inFlight() > 0 {
		select {
		case <-c.less:
		case <-ctx.Done():
			return
		}
	}
	c.signal(c.less) // for another call of Close
}

// inFlight counts calls, commands and clean-ups, and ownerships that are being released. It reads without
// a mutex, so it may be too high, never too low: a release is counted twice while its ownership ends.
func (c *Client) inFlight() int64 { return c.work.Load() - c.held.Load() + c.freeing.Load() }

// remains is the error that says what is left when ctx ends. It is nil if the last hold or command ends
// at this very moment.
func (c *Client) remains(cause error) error {
	work := c.work.Load()
	if work <= 0 {
		return nil
	}
	return fmt.Errorf("still held: %d, commands in flight: %d: %w", c.held.Load()-c.roots.Load(), work-c.held.Load(), cause)
}

// eachState calls f with every lock state that is in use now.
func (c *Client) eachState(f func(*lockState)) {
	c.mu.Lock()
	var all []*lockState
	for _, ofKind := range c.states {
		for _, s := range ofKind {
			s.addUser()
			all = append(all, s)
		}
	}
	c.mu.Unlock()
	for _, s := range all {
		f(s)
		s.dropUser()
	}
}

// begin announces a hold or a command that Close waits for. Once the Client is closed it reports false,
// and the caller must not begin.
func (c *Client) begin() bool {
	c.work.Add(1)
	if c.closed.Load() {
		c.end()
		return false
	}
	return true
}

// end takes back one begin.
func (c *Client) end() {
	if c.work.Add(-1) == 0 {
		c.signal(c.idle)
	}
	if c.finishing.Load() > 0 {
		c.signal(c.less)
	}
}

// signal leaves one item in a channel of capacity 1.
func (*Client) signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// isClosing reports whether anything new is refused.
func (c *Client) isClosing() bool {
	select {
	case <-c.closing:
		return true
	default:
		return false
	}
}
