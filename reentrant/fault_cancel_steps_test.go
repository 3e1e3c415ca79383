package reentrant_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// cancelRig is one step at which a call can be cancelled.
type cancelRig struct {
	*faultRig
	c    *reentrant.Client
	rdb  *redis.Client
	lock *reentrant.Lock
}

// Each step of a call is stopped there, and the ctx ends: the call comes back with
// the cause, and when the step goes on, nothing is left behind.
func TestFaultCancelAtEachStep(t *testing.T) {
	t.Parallel()
	slow := func(r *cancelRig, script string) {
		r.proxy.Add(faultproxy.Rule{Match: scriptIs(script), Times: 1, Action: faultproxy.Delay(300 * time.Millisecond)})
	}
	lock := func(r *cancelRig, ctx context.Context) error { return r.lock.Lock(ctx) }
	for _, step := range []struct {
		name    string
		poolOf1 bool
		prepare func(t *testing.T, r *cancelRig) (end func())
		call    func(r *cancelRig, ctx context.Context) error
		want    error
	}{
		{"waiting for a connection", true, func(t *testing.T, r *cancelRig) func() {
			busy := make(chan error, 1)
			go func() { busy <- r.rdb.BLPop(t.Context(), 5*time.Second, "list").Err() }()
			redistest.Eventually(t, 5*time.Second, "the connection is taken", func() bool {
				return r.Info(t, "clients", "blocked_clients") == "1"
			})
			return func() { r.Do(t, "RPUSH", "list", "x"); okay(t, <-busy) }
		}, lock, reentrant.ErrNotAcquired},

		{"acquire in flight", false, func(t *testing.T, r *cancelRig) func() {
			slow(r, "acquire")
			return func() {}
		}, lock, reentrant.ErrNotAcquired},

		{"waiting for an owner of this client", false, func(t *testing.T, r *cancelRig) func() {
			okay(t, r.lock.Lock(owner(t.Context(), "ahead")))
			return func() { okay(t, r.lock.Unlock(owner(t.Context(), "ahead"))) }
		}, lock, reentrant.ErrNotAcquired},

		{"waiting for another client", false, func(t *testing.T, r *cancelRig) func() {
			other := faultClient(t, r.Client(t)).NewLock("l")
			okay(t, other.Lock(owner(t.Context(), "ahead")))
			return func() { okay(t, other.Unlock(owner(t.Context(), "ahead"))) }
		}, lock, reentrant.ErrNotAcquired},

		{"subscribing", false, func(t *testing.T, r *cancelRig) func() {
			other := faultClient(t, r.Client(t)).NewLock("l")
			okay(t, other.Lock(owner(t.Context(), "ahead")))
			r.proxy.Blackhole(true, true, faultproxy.PubSub)
			return func() { r.proxy.Heal(); okay(t, other.Unlock(owner(t.Context(), "ahead"))) }
		}, lock, reentrant.ErrNotAcquired},

		{"hand-off in flight", false, func(t *testing.T, r *cancelRig) func() {
			ahead := owner(t.Context(), "ahead")
			okay(t, r.lock.Lock(ahead))
			slow(r, "transfer")
			released := make(chan error, 1)
			go func() {
				for r.c.Stats().Waiting == 0 {
					time.Sleep(time.Millisecond)
				}
				released <- r.lock.Unlock(ahead)
			}()
			return func() { okay(t, <-released) }
		}, lock, reentrant.ErrNotAcquired},

		{"re-entry in flight", false, func(t *testing.T, r *cancelRig) func() {
			okay(t, r.lock.Lock(owner(t.Context(), "me")))
			slow(r, "count")
			return func() {
				redistest.Eventually(t, 5*time.Second, "the count is 1 again", func() bool {
					n, err := r.lock.HoldCount(owner(t.Context(), "me"))
					return err == nil && n == 1
				})
				okay(t, r.lock.Unlock(owner(t.Context(), "me")))
			}
		}, lock, reentrant.ErrNotAcquired},

		{"unlock in flight", false, func(t *testing.T, r *cancelRig) func() {
			okay(t, r.lock.Lock(owner(t.Context(), "me")))
			slow(r, "release")
			return func() {}
		}, func(r *cancelRig, ctx context.Context) error { return r.lock.Unlock(ctx) }, reentrant.ErrUnconfirmed},

		{"unlock of a nested hold in flight", false, func(t *testing.T, r *cancelRig) func() {
			okay(t, r.lock.Lock(owner(t.Context(), "me")))
			okay(t, r.lock.Lock(owner(t.Context(), "me")))
			slow(r, "count")
			return func() { okay(t, r.lock.Unlock(owner(t.Context(), "me"))) }
		}, func(r *cancelRig, ctx context.Context) error { return r.lock.Unlock(ctx) }, reentrant.ErrUnconfirmed},
	} {
		t.Run(step.name, func(t *testing.T) {
			t.Parallel()
			noise := listenToNoise(t)
			r := &cancelRig{faultRig: newFaultRig(t)}
			r.rdb = r.through(t, func(o *redis.Options) {
				if step.poolOf1 {
					o.PoolSize = 1
				}
			})
			r.c = faultClient(t, r.rdb)
			r.lock = r.c.NewLock("l")
			end := step.prepare(t, r)
			late, err := cancelIn(t, 60*time.Millisecond, func(ctx context.Context) error { return step.call(r, ctx) })
			wants(t, err, step.want, errGivenUp)
			if late > noise.allow(20*time.Millisecond) { // some 1 ms where nothing else runs
				t.Errorf("returned %v after its cancellation", late)
			}
			end()
			tidyWithin(t, r.Server, 5*time.Second, "l")
			closeQuickly(t, r.c) // waits for what is still on its way
			tidyWithin(t, r.Server, time.Second, "l")
		})
	}
}

var errGivenUp = errors.New("the caller has given up")

// cancelIn makes a call, cancels it after a while, and says how long it took to
// come back.
func cancelIn(t *testing.T, after time.Duration, call func(ctx context.Context) error) (late time.Duration, err error) {
	ctx, cancel := context.WithCancelCause(owner(t.Context(), "me"))
	defer cancel(nil)
	done := make(chan error, 1)
	go func() { done <- call(ctx) }()
	select {
	case err = <-done:
		t.Errorf("returned %v before its cancellation", err)
		return 0, err
	case <-time.After(after):
	}
	at := time.Now()
	cancel(errGivenUp)
	err = inTime(t, 10*time.Second, "the cancelled call returns", done)
	return time.Since(at), err
}

// A ctx that has ended is no reason to send anything.
func TestFaultCancelledBefore(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t)
	c := faultClient(t, r.through(t))
	l := c.NewLock("l")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errGivenUp)
	_, err := l.Acquire(ctx)
	wants(t, err, reentrant.ErrNotAcquired, errGivenUp)
	wants(t, l.Lock(ctx), reentrant.ErrNotAcquired, errGivenUp)
	ok, err := l.TryLock(ctx, time.Second, 0)
	if ok {
		t.Error("TryLock took the lock")
	}
	wants(t, err, reentrant.ErrNotAcquired, errGivenUp)
	wants(t, l.Do(ctx, func(context.Context) error { t.Error("fn was called"); return nil }), errGivenUp)
	if n := r.proxy.Commands("EVALSHA") + r.proxy.Commands("EVAL"); n > 0 {
		t.Errorf("%d scripts were sent", n)
	}

	// Unlock is another matter: the lock must not be kept because of it.
	okay(t, l.Lock(t.Context()))
	if err := l.Unlock(ctx); err != nil {
		wants(t, err, reentrant.ErrUnconfirmed, errGivenUp)
	}
	tidyWithin(t, r.Server, 3*time.Second, "l")
}
