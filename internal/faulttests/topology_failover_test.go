package faulttests

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// failoverLease outlasts a failover on a busy machine.
const failoverLease = 15 * time.Second

// Row 22: the master crashes after it has granted a lock of which its replica has not
// heard. The new master grants it again: that is documented. The old holder is told, and
// its token is below the new one's although the counter has fallen back.
func TestFault22FailoverLosesAWrite(t *testing.T) {
	t.Parallel()
	group, relay := redistest.StartSentinelRelayed(t)
	master, heir := group.Master, group.Replica
	told := make(chan reentrant.Event, 10)
	holder := locktest.NewClient(t, group.Client(t), reentrant.WithLease(failoverLease),
		reentrant.WithEvents(reentrant.Events{Lost: func(ev reentrant.Event) { told <- ev }}))
	other := locktest.NewClient(t, group.Client(t), reentrant.WithLease(failoverLease))
	careful := locktest.NewClient(t, group.Client(t), reentrant.WithLease(failoverLease),
		reentrant.WithReplicaAcks(1, 300*time.Millisecond))

	// What a replica has confirmed, the next owner has.
	kept, err := careful.NewLock("kept", reentrant.WithFencing()).Acquire(asHolder(t))
	must(t, err)

	relay.CutReplicas()
	l := holder.NewLock("l", reentrant.WithFencing())
	var tokens []int64
	for range 3 { // the counter goes on, of which the next owner knows nothing
		hold, err := l.Acquire(asHolder(t))
		must(t, err)
		tokens = append(tokens, hold.Token())
		must(t, hold.Release(asHolder(t)))
	}
	hold, err := l.Acquire(asHolder(t))
	must(t, err)
	tokens = append(tokens, hold.Token())
	next := locktest.CallFor(t, other, other.NewLock("l", reentrant.WithFencing()), "waiter")
	registered(t, master, "l", other)
	for range 3 {
		wants(t, careful.NewLock("refused").Lock(asHolder(t)), reentrant.ErrReplicas, reentrant.ErrNotAcquired)
		if left := locktest.Held(t, master, "refused"); len(left) > 0 {
			t.Fatalf("left behind: %v", left)
		}
	}
	if n := len(locktest.Held(t, heir, "l")); n > 0 {
		t.Fatal("the replica has the lock all the same")
	}

	master.Kill()
	group.AwaitPromotion(t)
	got := next.Hold(t, failoverLease)
	if tokens = append(tokens, got.Token()); !rising(tokens) {
		t.Errorf("tokens %d do not rise over the failover", tokens)
	}
	locktest.InTime(t, failoverLease, "the old holder is told", hold.Lost())
	var lost *reentrant.LostError
	if cause := context.Cause(hold.Context()); !errors.As(cause, &lost) || lost.Reason != reentrant.Overridden {
		t.Errorf("the hold has ended with %v", cause)
	}
	if ev := locktest.InTime(t, 10*time.Second, "the event", told); !errors.Is(ev.Err, reentrant.ErrLost) || ev.Name != "l" {
		t.Errorf("event %+v", ev)
	}
	wants(t, hold.Release(asHolder(t)), reentrant.ErrLost)
	if at := locktest.Held(t, heir, "l"); len(at) != 1 || at[got.Owner()] != "1" {
		t.Errorf("at the new master: %v, want %s", at, got.Owner())
	}
	must(t, got.Release(next.Ctx))
	must(t, kept.Release(asHolder(t))) // was never lost

	// The new master has no replica.
	wants(t, careful.NewLock("refused").Lock(asHolder(t)), reentrant.ErrReplicas)
	for _, name := range []string{"l", "kept", "refused"} {
		locktest.FreeWithin(t, heir, 20*time.Second, name)
	}
}

// registered waits until a Client that waits is known at the server to do so.
func registered(t *testing.T, s *redistest.Server, name string, c *reentrant.Client) {
	t.Helper()
	redistest.Eventually(t, 20*time.Second, "the waiter is registered", func() bool {
		return s.Do(t, "ZSCORE", "redlatch_waiters:{"+name+"}", c.ID()) != nil
	})
}

func rising(tokens []int64) bool {
	for i := 1; i < len(tokens); i++ {
		if tokens[i] <= tokens[i-1] {
			return false
		}
	}
	return true
}

// Row 24: the master of a Sentinel group is stopped, and its replica takes over. Who holds
// goes on holding, who waits is woken by a message at the new master.
func TestFault24SentinelFailover(t *testing.T) {
	t.Parallel()
	group := redistest.StartSentinel(t)
	// The grant is confirmed by the replica: this is not about a lost write.
	holder := locktest.NewClient(t, group.Client(t), reentrant.WithLease(failoverLease), reentrant.WithReplicaAcks(1, 4*time.Second))
	waiter := locktest.NewClient(t, group.Client(t), reentrant.WithLease(failoverLease))
	l := holder.NewLock("l", reentrant.WithFencing())
	hold, err := l.Acquire(asHolder(t))
	must(t, err)
	next := locktest.CallFor(t, waiter, waiter.NewLock("l", reentrant.WithFencing()), "waiter")
	registered(t, group.Master, "l", waiter)

	group.Master.Stop()
	group.AwaitPromotion(t)
	// Re-entry asks for no replica.
	redistest.Eventually(t, failoverLease, "the holder is heard at the new master", func() bool {
		if ended(hold.Lost()) {
			t.Fatalf("lost: %v", context.Cause(hold.Context()))
		}
		ctx, cancel := context.WithTimeout(asHolder(t), time.Second)
		defer cancel()
		return l.Lock(ctx) == nil
	})
	own := "redisson_lock__channel:{l}:" + waiter.ID()
	redistest.Eventually(t, 30*time.Second, "the waiter listens at the new master", func() bool {
		return group.Replica.Do(t, "PUBSUB", "NUMSUB", own).([]any)[1] == int64(1) &&
			group.Replica.Do(t, "ZSCORE", "redlatch_waiters:{l}", waiter.ID()) != nil
	})
	must(t, l.Unlock(asHolder(t)))
	before := waiter.Stats().WakeUps
	must(t, hold.Release(asHolder(t)))
	got := next.Hold(t, failoverLease)
	if after := waiter.Stats().WakeUps; after.Message == before.Message {
		t.Errorf("not woken by a message: %+v, before %+v", after, before)
	}
	if got.Token() <= hold.Token() {
		t.Errorf("token %d after %d", got.Token(), hold.Token())
	}

	// The old master goes on, and takes itself for the master until the Sentinels demote it.
	group.Master.Continue()
	must(t, got.Release(next.Ctx))
	locktest.FreeWithin(t, group.Replica, 20*time.Second, "l")
	for _, c := range []*reentrant.Client{holder, waiter} {
		if n := c.Stats().Losses; n > 0 {
			t.Errorf("%d losses", n)
		}
	}
}
