package reentrant

import (
	"fmt"
	"time"
)

const (
	// defaultQueueTimeout is Redisson's fairLockWaitTimeout.
	defaultQueueTimeout = 5 * time.Minute
	maxQueueTimeout     = 24 * time.Hour
)

// NewFairLock returns the fair lock of that name, as [Client.NewLock] returns a lock. It goes to the calls that wait for
// it in the order in which they came, and never to a call that came later. That is so over all Clients and Redisson
// (RedissonFairLock). Redis is told of each call, and that is the order. A call waits in the Client's queue from its
// first moment on, and the Client tells Redis within about two round trips.
//
// A [Lock] of this kind differs from others in this:
//
//   - A call that does not wait ([Lock.TryLock] with wait 0) does not get the lock while any other call waits for it.
//   - [WithHandoff] changes nothing: whether the next owner is one of this Client is Redis' decision, at each release.
//   - Redis leaves out a call that does not come when it is its turn. A Client that does not listen is left out at
//     once, a Client that does not answer after 2 s, and a thread of Redisson after 10 s. Waiters notice that when
//     they look by themselves, which may take 5 s more. A Client that was left out and is alive comes first when it is
//     back.
//   - [Lock.Info] lists all who wait, in their order.
//
// All users of a name must use the same kind. Redis cannot tell a fair lock from a plain one, which ignores the order. A
// name that a read-write lock holds is [ErrForeignKey].
func (c *Client) NewFairLock(name string, opts ...LockOption) *Lock {
	return c.newLock(fair, name, opts)
}

// WithQueueTimeout sets by how much later than those before it a waiter of a fair lock may be dropped by Redisson, if it
// does not come. It must be the same as fairLockWaitTimeout of all clients of Redisson that use the lock. With less, a
// grant to one of theirs makes them drop waiters that are alive, which then lose time, but not their place. The default is
// Redisson's, 5 minutes. It is 1 s to 24 h, otherwise [ErrInvalidOption]. Without Redisson it has no effect.
func WithQueueTimeout(timeout time.Duration) Option {
	return func(c *config) error {
		c.queueTimeout = timeout
		if timeout < time.Second || timeout > maxQueueTimeout {
			return fmt.Errorf("%w: queue timeout %v", ErrInvalidOption, timeout)
		}
		return nil
	}
}
