package reentrant

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// closeGrace is what Close gives to the releases in flight when its ctx has ended, so that a program
// that got SIGTERM, and closes with the ctx that this has ended, leaves no lock behind. Redis answers
// in a thousandth of that; a silent Redis must not hold the program up for longer.
const closeGrace = time.Second

// Close shuts the Client down like http.Server.Shutdown. Waiting calls end with
// [ErrNotAcquired] and [ErrClosed], at once; one whose ctx never ends, such as
// [context.Background], ends when its command under way does, at most go-redis'
// ReadTimeout later. Nothing new is granted; an owner that holds a lock may still
// re-enter it. Close then waits until all holds are released and all commands have
// ended, or until ctx ends. What is on its way then to free a lock (an Unlock or Release that has
// begun, what is given back for a call that left), and to take the Client out of the queue of
// waiters, is given 1 s more, also if ctx had ended before the call; holds that nobody is
// releasing are not. After that renewal stops, the ctx of holds that are left
// ends with cause [ErrClosed], their locks expire in Redis within a lease, and every
// method returns [ErrClosed], one that takes the lock together with [ErrNotAcquired].
// Who holds a lock by [Lock.Lock] hears of it from Unlock only.
//
// It returns an error that wraps ctx's cause if holds were left or something was still
// in flight after that second (go-redis bounds how long), otherwise nil. It may be called again, also
// at the same time. Give it a ctx with a limit: with one that never ends it waits for
// ever for a hold that nobody releases.
func (c *Client) Close(ctx context.Context) error {
	c.closeOnce.Do(func() {
		close(c.closing)
		c.eachState((*lockState).wakeAll)
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
		c.workers.Wait() // nothing is in flight: those that are left wait for c.ctx
	}
	if err == nil {
		err = rest // otherwise ctx is over, and they only say that they had no time
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

// finish waits until nothing is in flight, whatever is held: no hold ends any more without a call that
// is in flight.
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

// inFlight counts calls, commands and clean-ups, and ownerships that are being released. Read without a
// mutex it may be too high, never too low: a release is counted twice while its ownership ends.
func (c *Client) inFlight() int64 { return c.work.Load() - c.held.Load() + c.freeing.Load() }

// remains says what is left at the end of a ctx; what ends at this very moment is not worth an error.
func (c *Client) remains(cause error) error {
	work := c.work.Load()
	if work <= 0 {
		return nil
	}
	return fmt.Errorf("still held: %d, commands in flight: %d: %w", c.held.Load(), work-c.held.Load(), cause)
}

// eachState calls f with every queue that is in use now.
func (c *Client) eachState(f func(*lockState)) {
	c.mu.Lock()
	queues := make([]*lockState, 0, len(c.states))
	for _, s := range c.states {
		s.addUser()
		queues = append(queues, s)
	}
	c.mu.Unlock()
	for _, s := range queues {
		f(s)
		s.dropUser()
	}
}

// begin announces a hold or a command that Close is to wait for. It reports false,
// and nothing may begin, once the Client is closed.
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
