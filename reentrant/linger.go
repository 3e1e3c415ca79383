package reentrant

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// ErrNested: [Hold.ReleaseAfter] was refused and has changed nothing, since the owner has other holds on the
// lock.
var ErrNested = errors.New("redlatch: the owner has other holds on the lock")

// ReleaseAfter releases the hold as [Hold.Release] does, but the lock stays taken: Redis frees it d after the call, at
// most 100 years ([ErrInvalidLease]), without this process. Until then it is nobody's. No owner can enter it, the one
// that has released it included, and everybody waits for it or finds it busy; [Lock.ForceUnlock] frees it. With d of 0 or
// less it is Release.
//
// It is for work that must not be done again too soon, such as a job that several machines start at times which
// their clocks do not agree on. The hold is over at once: its ctx ends with [ErrReleased], its renewal
// ends, and the event is Released. No waiter of the Client is handed the lock; those who wait learn of the new end.
//
// It must be the owner's only hold on the lock; otherwise it returns [ErrNested] and changes nothing. It waits and fails
// as Release does. After [ErrUnconfirmed] the Client goes on in the background to leave the lock to nobody until what is
// left of d. If Redis never hears of it, the lock is free when its lease ends, be that before or after. Until Redis has
// heard of it, the same owner can take the lock anew. A Redis whose memory is full refuses it.
//
// A failover or restart can forget the lock as any other. [WithReplicaAcks] does not ask for this one.
func (h *Hold) ReleaseAfter(ctx context.Context, d time.Duration) error {
	if d > maxLease {
		return fmt.Errorf("%w: %v, at most %v", ErrInvalidLease, d, maxLease)
	}
	return h.release(ctx, d)
}

// nobody is a field that is no owner's. An owner that was named never has "=" before anything but
// digits or another "=" (explicitOwner), and a new one has newOwnerPrefix.
func (c *Client) nobody() string {
	return c.id + ":" + nobodys + strconv.FormatUint(c.number.Add(1), 10)
}

const nobodys = "=released:"
