package faulttests

import (
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// firstPollLimit is when a waiter that hears nothing tries again for the first
// time, at the latest, with room for a busy machine.
const firstPollLimit = 1600 * time.Millisecond

// deafRig has a holder with a clean connection and a waiter behind the proxy.
type deafRig struct {
	*faultRig
	holder, waiter *reentrant.Client
}

func newDeafRig(t *testing.T) *deafRig {
	r := newFaultRig(t)
	return &deafRig{r, faultClient(t, r.Client(t)), faultClient(t, r.through(t))}
}

// handOff has the waiter wait for a lock that is held, calls between once it is
// registered and subscribed, releases the lock, and returns how long the waiter
// took to get it.
func (r *deafRig) handOff(t *testing.T, between func()) time.Duration {
	t.Helper()
	ctx := owner(t.Context(), "me")
	held, wanted := r.holder.NewLock("l"), r.waiter.NewLock("l")
	must(t, held.Lock(ctx))
	done := make(chan error, 1)
	go func() { done <- wanted.Lock(ctx) }()
	redistest.Eventually(t, 5*time.Second, "somebody waits", func() bool { return r.waiter.Stats().Waiting == 1 })
	between()
	must(t, held.Unlock(ctx))
	start := time.Now()
	must(t, locktest.InTime(t, 20*time.Second, "the waiter gets the lock", done))
	d := time.Since(start)
	must(t, wanted.Unlock(ctx))
	return d
}

func (r *deafRig) registered(t *testing.T) func() {
	return func() {
		redistest.Eventually(t, 5*time.Second, "it is registered", func() bool {
			return r.Do(t, "ZCARD", "redlatch_waiters:{l}").(int64) == 1
		})
	}
}

// Messages are lost: Redis has sent them, and the waiter never sees them. It finds
// the free lock by itself, and hears again when the connection does.
func TestFault11MessagesLost(t *testing.T) {
	t.Parallel()
	noise, r := listenToNoise(t), newDeafRig(t)
	if d := r.handOff(t, r.registered(t)); d > noise.allow(500*time.Millisecond) {
		t.Errorf("with nothing wrong the hand-off took %v", d)
	}
	messages := r.waiter.Stats().WakeUps.Message
	d := r.handOff(t, func() {
		r.registered(t)()
		r.proxy.Blackhole(false, true, faultproxy.PubSub)
	})
	t.Logf("deaf hand-off: %v", d)
	if d > noise.allow(firstPollLimit) {
		t.Errorf("a waiter that heard nothing took %v", d)
	}
	if now := r.waiter.Stats().WakeUps.Message; now != messages {
		t.Error("a message came through")
	}
	r.proxy.Heal()
	redistest.Eventually(t, 15*time.Second, "messages wake again", func() bool {
		return r.handOff(t, r.registered(t)) < 500*time.Millisecond && r.waiter.Stats().WakeUps.Message > messages
	})
	locktest.TidyWithin(t, r.Server, 3*time.Second, "l")
}

// The subscription's connection is half open from its first request on: Redis
// never sees the SUBSCRIBE. Waiters poll, and the connection is replaced.
func TestFault11SubscribeLost(t *testing.T) {
	t.Parallel()
	noise, r := listenToNoise(t), newDeafRig(t)
	lost := r.proxy.Add(faultproxy.Rule{Class: faultproxy.PubSub, Match: faultproxy.Named("SUBSCRIBE"),
		Times: 1, Action: faultproxy.SwallowRequest})
	d := r.handOff(t, func() {
		redistest.Eventually(t, 5*time.Second, "SUBSCRIBE was sent", func() bool { return lost.Hits() == 1 })
	})
	if d > noise.allow(firstPollLimit) {
		t.Errorf("a waiter without a subscription took %v", d)
	}
	d = r.handOff(t, func() {
		redistest.Eventually(t, 15*time.Second, "the connection was replaced", func() bool {
			return r.Do(t, "ZCARD", "redlatch_waiters:{l}").(int64) == 1
		})
	})
	if d > noise.allow(500*time.Millisecond) {
		t.Errorf("after the connection was replaced the hand-off took %v", d)
	}
	if n := strings.Count(r.Do(t, "CLIENT", "LIST", "TYPE", "pubsub").(string), "\n"); n > 1 {
		t.Errorf("%d connections are subscribed for one client", n)
	}
}

// Only the connections for commands are silent; messages still come. Nobody may
// spin on them, every limit holds, and nothing is left when commands pass again.
func TestFault08OnlyCommandsSilent(t *testing.T) {
	t.Parallel()
	const lease = time.Second
	noise, r := listenToNoise(t), newFaultRig(t)
	c := faultClient(t, r.through(t, locktest.Impatience(200*time.Millisecond)), reentrant.WithLease(lease))
	other := faultClient(t, r.Client(t))
	ctx := owner(t.Context(), "me")
	hold, err := c.NewLock("mine").Acquire(ctx)
	must(t, err)
	must(t, other.NewLock("theirs").Lock(ctx))
	waited := make(chan error, 1)
	go func() {
		_, err := c.NewLock("theirs").TryLock(ctx, 2*time.Second, 0)
		waited <- err
	}()
	redistest.Eventually(t, 5*time.Second, "it is registered", func() bool {
		return r.Do(t, "ZCARD", "redlatch_waiters:{theirs}").(int64) == 1
	})
	start := time.Now()
	r.proxy.Blackhole(true, true, faultproxy.Command)
	sent := r.proxy.Commands("EVALSHA")
	for range 100 { // each is a reason to try
		r.Do(t, "PUBLISH", "redisson_lock__channel:{theirs}", "0")
	}
	locktest.InTime(t, 3*lease, "the loss", hold.Lost())
	if late := time.Since(hold.ValidUntil()); late > noise.allow(100*time.Millisecond) {
		t.Errorf("told of the loss %v after ValidUntil", late)
	}
	wants(t, locktest.InTime(t, 5*time.Second, "the wait ends", waited), reentrant.ErrNotAcquired)
	if d := time.Since(start); d > noise.allow(2100*time.Millisecond) {
		t.Errorf("a wait of 2 s ended %v after the silence began", d)
	}
	if n := r.proxy.Commands("EVALSHA") - sent; n > 100 {
		t.Errorf("%d scripts were sent in 2 s of silence", n)
	}
	r.proxy.Heal()
	must(t, other.NewLock("theirs").Unlock(ctx))
	locktest.TidyWithin(t, r.Server, 4*time.Second, "mine", "theirs")
	must(t, c.NewLock("theirs").Lock(ctx))
	must(t, c.NewLock("theirs").Unlock(ctx))
}
