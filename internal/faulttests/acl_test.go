package faulttests

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// aclRig is a lock that a user holds, and another client of that user waits for.
type aclRig struct {
	*redistest.Server
	holder, waiter *reentrant.Client
	hold           *reentrant.Hold
	waited         chan error
}

func newACLRig(t *testing.T, lease time.Duration) *aclRig {
	t.Helper()
	r := &aclRig{Server: redistest.Start(t), waited: make(chan error, 1)}
	locktest.SetUser(t, r.Server, "u", "~*", "&*", "+@all")
	r.holder = faultClient(t, r.Client(t, locktest.AsUser("u")), reentrant.WithLease(lease))
	r.waiter = faultClient(t, r.Client(t, locktest.AsUser("u")), reentrant.WithLease(lease))
	me := owner(t.Context(), "me")
	var err error
	r.hold, err = r.holder.NewLock("l").Acquire(me)
	must(t, err)
	go func() { r.waited <- r.waiter.NewLock("l").Lock(me) }()
	redistest.Eventually(t, 10*time.Second, "it is registered", func() bool {
		return r.Do(t, "ZCARD", "redlatch_waiters:{l}").(int64) == 1
	})
	return r
}

// noKeyForEver checks that no key lacks a TTL.
func (r *aclRig) noKeyForEver(t *testing.T) {
	t.Helper()
	for _, key := range r.Do(t, "KEYS", "*").([]any) {
		if ttl := r.Do(t, "PTTL", key).(int64); ttl == -1 {
			t.Errorf("%s has no TTL", key)
		}
	}
}

// Row 33. A permission that renewals need is withdrawn: the holder is told by the end of its lease,
// whoever waits or comes is told why there is no lock, nothing is left locked for ever, and when
// the permission is back all is well.
func TestFault33PermissionWithdrawn(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"pexpire", "hexists", "evalsha"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			r := newACLRig(t, 2*time.Second)
			me := owner(t.Context(), "me")
			locktest.SetUser(t, r.Server, "u", "-"+command)
			locktest.InTime(t, 10*time.Second, "the loss", r.hold.Lost())
			var lost *reentrant.LostError
			if err := r.hold.Release(me); !errors.As(err, &lost) || lost.Reason != reentrant.LeaseEnded {
				t.Errorf("Release: %v", err)
			}
			if n := r.holder.Stats().RenewFailures; n == 0 {
				t.Error("no renewal was refused")
			}
			err := locktest.InTime(t, 10*time.Second, "the wait ends", r.waited)
			if command == "hexists" { // which nobody needs to take a lock
				must(t, err)
			} else {
				refusedByACL(t, err)
				refusedByACL(t, r.holder.NewLock("another").Lock(me))
			}
			r.noKeyForEver(t)
			_, err = r.holder.Check(t.Context())
			if rules := locktest.RulesOf(t, err); len(rules) != 1 || rules[0] != "+"+command {
				t.Errorf("Check finds %v", rules)
			}
			locktest.SetUser(t, r.Server, "u", "+"+command)
			_ = r.waiter.NewLock("l").Unlock(me) // it may have got the lock, and lost it
			redistest.Eventually(t, 10*time.Second, "the lock is had again", func() bool {
				ok, _ := r.holder.NewLock("l").TryLock(me, time.Second, 0)
				return ok
			})
			must(t, r.holder.NewLock("l").Unlock(me))
		})
	}
}

// refusedByACL checks that the error says that Redis has refused for want of a permission,
// the script or a command in it.
func refusedByACL(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, reentrant.ErrNotAcquired) || !strings.Contains(err.Error(), "NOPERM") && !strings.Contains(err.Error(), redistest.RefusedInScript(t)) {
		t.Errorf("not refused: %v", err)
	}
}

// Row 33. The right to the channels is withdrawn, upon which Redis cuts off who listens:
// who waits has the lock all the same, by its poll.
func TestFault33ChannelWithdrawn(t *testing.T) {
	t.Parallel()
	r := newACLRig(t, 30*time.Second)
	me := owner(t.Context(), "me")
	locktest.SetUser(t, r.Server, "u", "resetchannels")
	redistest.Eventually(t, 10*time.Second, "it is cut off", func() bool {
		return len(r.Do(t, "PUBSUB", "CHANNELS").([]any)) == 0
	})
	must(t, r.hold.Release(me))
	must(t, locktest.InTime(t, 20*time.Second, "the waiter has the lock", r.waited))
	if rate := rateOver(t, r.Server, 500*time.Millisecond); rate > 20 {
		t.Errorf("%.0f scripts a second", rate)
	}
	must(t, r.waiter.NewLock("l").Unlock(me))
	r.noKeyForEver(t)
	locktest.FreeWithin(t, r.Server, 5*time.Second, "l")
}

// Row 33. The user is gone, and with it all its connections. The holder is told, calls end with an
// error that says so, and nobody hammers.
func TestFault33UserRemoved(t *testing.T) {
	t.Parallel()
	r := newACLRig(t, 2*time.Second)
	me := owner(t.Context(), "me")
	r.Do(t, "ACL", "DELUSER", "u")
	locktest.InTime(t, 10*time.Second, "the loss", r.hold.Lost())
	wants(t, r.hold.Release(me), reentrant.ErrLost)
	if err := r.holder.NewLock("another").Lock(me); !errors.Is(err, reentrant.ErrNotAcquired) || !strings.Contains(err.Error(), "WRONGPASS") {
		t.Errorf("Lock: %v", err)
	}
	wants(t, locktest.InTime(t, 20*time.Second, "the wait ends", r.waited), reentrant.ErrNotAcquired)
	r.noKeyForEver(t)
	locktest.FreeWithin(t, r.Server, 5*time.Second, "l")
	locktest.SetUser(t, r.Server, "u", "~*", "&*", "+@all")
	must(t, r.waiter.NewLock("l").Lock(me))
	must(t, r.waiter.NewLock("l").Unlock(me))
}
