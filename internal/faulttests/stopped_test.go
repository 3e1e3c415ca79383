package faulttests

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// A stopped server is the worst kind of silence: connections stay open, requests
// are taken, and all of them are executed when it goes on. patience is how long
// go-redis waits for a reply: with its default commands hang, with a short one they
// are given up while they sit in the server's buffers.
func onStoppedServer(t *testing.T, test func(t *testing.T, s *redistest.Server, client func(...reentrant.Option) *reentrant.Client)) {
	t.Parallel()
	for _, patience := range []time.Duration{5 * time.Second, 80 * time.Millisecond} {
		t.Run(fmt.Sprint("patience ", patience), func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			test(t, s, func(opts ...reentrant.Option) *reentrant.Client {
				return faultClient(t, s.Client(t, func(o *redis.Options) { o.ReadTimeout = patience }), opts...)
			})
		})
	}
}

const waitOnStopped = 300 * time.Millisecond

// The limit of a wait holds while Redis is silent, and what it grants to nobody
// when it goes on is given back.
func TestFault04StoppedTryLock(t *testing.T) {
	onStoppedServer(t, func(t *testing.T, s *redistest.Server, client func(...reentrant.Option) *reentrant.Client) {
		noise, c := listenToNoise(t), client()
		s.Stop()
		var ok bool
		var err error
		start := time.Now()
		ok, err = c.NewLock("l").TryLock(t.Context(), waitOnStopped, 0)
		if d := time.Since(start); d > noise.allow(waitOnStopped+100*time.Millisecond) {
			t.Errorf("TryLock took %v", d)
		}
		s.Continue()
		if ok {
			t.Error("TryLock took a lock of a server that did not answer")
		}
		wants(t, err, reentrant.ErrNotAcquired) // and not just busy: nobody said so
		locktest.CloseQuickly(t, c)             // waits for the commands that are under way
		locktest.FreeWithin(t, s, time.Second, "l")
	})
}

// The same for a call that waited already when the server stopped.
func TestFault04StoppedUnderWaiter(t *testing.T) {
	onStoppedServer(t, func(t *testing.T, s *redistest.Server, client func(...reentrant.Option) *reentrant.Client) {
		const wait = 2 * time.Second // it is registered within that, also where much else runs
		noise, holder, waiter := listenToNoise(t), client(), client()
		must(t, holder.NewLock("l").LockLease(t.Context(), time.Minute))
		done := make(chan error, 1)
		start := time.Now()
		go func() {
			ok, err := waiter.NewLock("l").TryLock(t.Context(), wait, 0)
			if ok {
				err = errors.New("taken")
			}
			done <- err
		}()
		redistest.Eventually(t, 5*time.Second, "it is registered", func() bool {
			return s.Do(t, "ZCARD", "redlatch_waiters:{l}").(int64) == 1
		})
		s.Stop()
		if err := locktest.InTime(t, 20*time.Second, "TryLock", done); err != nil && !errors.Is(err, reentrant.ErrNotAcquired) {
			t.Error(err)
		}
		if d := time.Since(start); d > noise.allow(wait+100*time.Millisecond) {
			t.Errorf("TryLock took %v", d)
		}
		s.Continue()
		if err := holder.NewLock("l").Unlock(t.Context()); err != nil {
			wants(t, err, reentrant.ErrUnconfirmed) // 80 ms are soon over on a busy machine
		}
		locktest.TidyWithin(t, s, 10*time.Second, "l")
	})
}

// A holder hears of its loss when its validity ends, from nobody but the clock; and
// the renewals that Redis executes late do not keep the lock from others.
func TestFault04StoppedHolder(t *testing.T) {
	const lease = 1500 * time.Millisecond
	onStoppedServer(t, func(t *testing.T, s *redistest.Server, client func(...reentrant.Option) *reentrant.Client) {
		noise, c := listenToNoise(t), client(reentrant.WithLease(lease))
		l, ctx := c.NewLock("l"), owner(t.Context(), "me")
		hold, err := l.Acquire(ctx)
		must(t, err)
		redistest.Eventually(t, 5*time.Second, "it was renewed", func() bool { return c.Stats().Renewals > 0 })
		s.Stop()
		locktest.InTime(t, 2*lease, "the loss", hold.Lost())
		if late := time.Since(hold.ValidUntil()); late < 0 || late > noise.allow(100*time.Millisecond) {
			t.Errorf("told of the loss %v after ValidUntil", late)
		}
		if cause := context.Cause(hold.Context()); !errors.Is(cause, reentrant.ErrLost) {
			t.Errorf("the hold's ctx ended with %v", cause)
		}
		wants(t, hold.Release(ctx), reentrant.ErrLost)
		s.Continue()
		// Renewals that were on their way run now and would keep it for 1.5 s more.
		locktest.FreeWithin(t, s, lease/2, "l")
		must(t, l.Lock(ctx))
		must(t, l.Unlock(ctx))
	})
}

// A call leaves while the server is stopped, and so does its process' connection.
// The acquire runs when the server goes on, with a lease of half a minute.
func TestFault04StoppedAcquireThatLeft(t *testing.T) {
	onStoppedServer(t, func(t *testing.T, s *redistest.Server, client func(...reentrant.Option) *reentrant.Client) {
		noise, c := listenToNoise(t), client()
		l := c.NewLock("l")
		must(t, l.Lock(t.Context())) // there is a connection to write to
		must(t, l.Unlock(t.Context()))
		s.Stop()
		late, err := cancelIn(t, waitOnStopped, l.Lock)
		wants(t, err, reentrant.ErrNotAcquired)
		if late > noise.allow(100*time.Millisecond) {
			t.Errorf("returned %v after its cancellation", late)
		}
		s.Continue()
		redistest.Eventually(t, 5*time.Second, "nothing is left", func() bool {
			return len(locktest.Held(t, s, "l")) == 0 && c.Stats().Held == 0
		})
		locktest.CloseQuickly(t, c)
		locktest.FreeWithin(t, s, 0, "l")
	})
}

// Unlock waits for the confirmation until the deadline of its ctx, and says that there
// was none. The release comes about all the same.
func TestFault04StoppedUnlock(t *testing.T) {
	onStoppedServer(t, func(t *testing.T, s *redistest.Server, client func(...reentrant.Option) *reentrant.Client) {
		noise, c := listenToNoise(t), client()
		l, ctx := c.NewLock("l"), owner(t.Context(), "me")
		must(t, l.Lock(ctx))
		s.Stop()
		late, err := expireIn(t, waitOnStopped, l.Unlock)
		var unconfirmed *reentrant.UnconfirmedError
		if !errors.As(err, &unconfirmed) || unconfirmed.FreeAfter <= 20*time.Second || unconfirmed.FreeAfter > 31*time.Second {
			t.Errorf("Unlock: %v", err)
		}
		if late > noise.allow(100*time.Millisecond) {
			t.Errorf("returned %v after its deadline", late)
		}
		s.Continue()
		locktest.FreeWithin(t, s, 2*time.Second, "l")
	})
}

// Redis stands still for two leases under a holder and five waiters of three Clients. The holder
// hears of its loss from the clock, no two ever trust the lock at once, and everybody
// who goes on asking gets it: nothing that runs late keeps it from them for longer than a lease.
func TestFault04StoppedForTwoLeases(t *testing.T) {
	t.Parallel()
	const lease = 600 * time.Millisecond
	noise, s := listenToNoise(t), redistest.Start(t)
	var hist locktest.Tenures
	var clients []*reentrant.Client
	for range 3 {
		clients = append(clients, faultClient(t, s.Client(t, locktest.Impatience(80*time.Millisecond)), reentrant.WithLease(lease)))
	}
	me := owner(t.Context(), "me")
	hold, err := clients[0].NewLock("l", reentrant.WithFencing()).Acquire(me)
	must(t, err)
	lost := hist.Begin("holder", hold)
	var group sync.WaitGroup
	for i := range 5 {
		group.Go(func() {
			who := fmt.Sprint("waiter ", i)
			l, ctx := clients[i%3].NewLock("l", reentrant.WithFencing()), owner(t.Context(), who)
			next, err := l.Acquire(ctx)
			for errors.Is(err, reentrant.ErrNotAcquired) && ctx.Err() == nil {
				next, err = l.Acquire(ctx) // an outage of a lease is the end of a wait
			}
			if err != nil {
				t.Errorf("%s: %v", who, err)
				return
			}
			end := hist.Begin(who, next)
			end()
			_ = next.Release(ctx) // a grant that came late in the day may be lost by now
		})
	}
	waiting := func() (n int) {
		for _, c := range clients {
			n += c.Stats().Waiting
		}
		return n
	}
	redistest.Eventually(t, 5*time.Second, "five wait", func() bool { return waiting() == 5 })
	s.Stop()
	outage := time.NewTimer(2 * lease)
	defer outage.Stop()
	locktest.InTime(t, 2*lease, "the loss", hold.Lost())
	lost()
	if late := time.Since(hold.ValidUntil()); late < 0 || late > noise.allow(100*time.Millisecond) {
		t.Errorf("told of the loss %v after ValidUntil", late)
	}
	<-outage.C
	s.Continue()
	group.Wait()
	if n := hist.Len(); n != 6 {
		t.Errorf("%d tenures", n)
	}
	hist.Trusted()
	hist.Disjoint(t, "of lock l")
	wants(t, hold.Release(me), reentrant.ErrLost)
	locktest.TidyWithin(t, s, 10*time.Second, "l")
}

// Redis stands still for as long as it takes to miss a renewal, and less than the lease: the
// holder notices nothing, nor does a call that comes in the meantime, but that it takes longer.
func TestFault05StoppedBriefly(t *testing.T) {
	t.Parallel()
	const lease = 2400 * time.Millisecond
	s := redistest.Start(t)
	c := faultClient(t, s.Client(t), reentrant.WithLease(lease))
	l, me := c.NewLock("l"), owner(t.Context(), "me")
	hold, err := l.Acquire(me)
	must(t, err)
	s.Stop()
	redistest.Eventually(t, 10*time.Second, "a renewal was missed", func() bool { return c.Stats().RenewFailures > 0 })
	until := hold.ValidUntil()
	nested := inBackground(func() error { return l.Lock(me) })
	s.Continue()
	redistest.Eventually(t, 10*time.Second, "it is renewed", func() bool { return hold.ValidUntil().After(until) })
	if err := <-nested; err != nil {
		t.Errorf("a nested lock while Redis stood still: %v", err)
	}
	if ended(hold.Lost()) || hold.Context().Err() != nil || c.Stats().Losses > 0 {
		t.Errorf("lost: %v", locktest.ContextCause(hold))
	}
	if got := locktest.Held(t, s, "l"); len(got) != 1 || got[hold.Owner()] != "2" {
		t.Errorf("Redis has %v", got)
	}
	must(t, l.Unlock(me))
	must(t, hold.Release(me))
	locktest.TidyWithin(t, s, 3*time.Second, "l")
}
