package faulttests

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// repeat runs a command on the server every so often until stop is called.
func repeat(t *testing.T, s *redistest.Server, every time.Duration, command ...any) (stop func() (times int)) {
	ctx, cancel := context.WithCancel(t.Context())
	times := make(chan int)
	go func() {
		n := 0
		defer func() { times <- n }()
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if err := s.Admin().Do(context.WithoutCancel(ctx), command...).Err(); err != nil {
					t.Errorf("%v: %v", command, err)
				}
				n++
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() int { cancel(); return <-times }
}

// Redis forgets its scripts every 5 ms, between any EVALSHA and the next: nobody
// notices.
func TestFault20ScriptFlush(t *testing.T) {
	t.Parallel()
	const lease = 6 * time.Second
	s := redistest.Start(t)
	clients := []*reentrant.Client{
		faultClient(t, s.Client(t), reentrant.WithLease(lease)),
		faultClient(t, s.Client(t), reentrant.WithLease(lease)),
	}
	kept, err := clients[0].NewLock("kept").Acquire(owner(t.Context(), "me"))
	must(t, err)
	stop := repeat(t, s, 5*time.Millisecond, "SCRIPT", "FLUSH")
	var calls atomic.Int64
	var group sync.WaitGroup
	end := time.Now().Add(lease/3 + 500*time.Millisecond) // the first renewals are among the calls
	for g := range 8 {
		group.Go(func() {
			ctx := owner(t.Context(), "o"+strconv.Itoa(g))
			l := clients[g%2].NewLock("flush:" + strconv.Itoa(g/4))
			for time.Now().Before(end) {
				for _, call := range []func(context.Context) error{l.Lock, l.Lock, l.Unlock, l.Unlock} {
					calls.Add(1)
					if err := call(ctx); err != nil {
						t.Errorf("%v", err)
						return
					}
				}
			}
		})
	}
	group.Wait()
	t.Logf("%d calls, %d flushes", calls.Load(), stop())
	must(t, kept.Release(owner(t.Context(), "me")))
	if st := clients[0].Stats(); st.Renewals == 0 || st.RenewFailures > 0 || st.Losses > 0 {
		t.Errorf("%+v", st)
	}
	locktest.TidyWithin(t, s, 3*time.Second, "kept", "flush:0", "flush:1")
}

// The subscriptions of two clients that pass the lock to and fro are killed all the
// time, so messages get lost. No hand-off waits for more than a poll.
func TestFault12SubscribersKilled(t *testing.T) {
	t.Parallel()
	noise := listenToNoise(t)
	s := redistest.Start(t)
	stop := repeat(t, s, 20*time.Millisecond, "CLIENT", "KILL", "TYPE", "pubsub")
	var gaps latencies
	var released atomic.Int64 // when the lock was last let go, after begin
	var group sync.WaitGroup
	begin := time.Now()
	var clients []*reentrant.Client
	for range 2 {
		c := faultClient(t, s.Client(t))
		clients = append(clients, c)
		group.Go(func() {
			ctx, l := owner(t.Context(), "me"), c.NewLock("l")
			for time.Since(begin) < 4*time.Second {
				if err := l.Lock(ctx); err != nil {
					t.Error(err)
					return
				}
				if at := released.Load(); at > 0 {
					gaps.add(time.Since(begin) - time.Duration(at))
				}
				time.Sleep(time.Millisecond) // the other one is to wait
				released.Store(int64(time.Since(begin)))
				if err := l.Unlock(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	t.Logf("%d kills; hand-offs: %v", stop(), &gaps)
	var subscribed uint64
	for _, c := range clients {
		subscribed += c.Stats().WakeUps.Subscribed
	}
	if subscribed < 10 {
		t.Errorf("a new subscription was the reason to try %d times", subscribed)
	}
	if p := gaps.at(.5); p > noise.allow(50*time.Millisecond) {
		t.Errorf("the median hand-off took %v", p)
	}
	if worst := gaps.at(1); worst > noise.allow(firstPollLimit) {
		t.Errorf("a hand-off took %v", worst)
	}
}
