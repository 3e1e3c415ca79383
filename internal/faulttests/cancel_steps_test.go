package faulttests

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// cancelRig is one step at which a call can be cancelled.
type cancelRig struct {
	*faultRig
	c    *reentrant.Client
	rdb  *redis.Client
	lock *reentrant.Lock
	at   func() bool // whether the call is at its step; nil: after a while it is
	goOn func()      // ends the step, if that does not end by itself
}

// Each step of a call is stopped there, and the ctx ends: the call comes back with
// the cause, and when the step goes on, nothing is left behind. A release is ended by a deadline only.
func TestFault39CancelAtEachStep(t *testing.T) {
	t.Parallel()
	slow := func(r *cancelRig, script string) {
		rule := r.stall(script)
		r.at, r.goOn = func() bool { return rule.Hits() == 1 }, rule.Resume
	}
	lock := func(r *cancelRig, ctx context.Context) error { return r.lock.Lock(ctx) }
	for _, step := range []struct {
		name    string
		poolOf1 bool
		prepare func(t *testing.T, r *cancelRig) (end func())
		call    func(r *cancelRig, ctx context.Context) error
		want    error
		opts    []reentrant.Option
	}{
		{"waiting for a connection", true, func(t *testing.T, r *cancelRig) func() {
			busy := make(chan error, 1)
			go func() { busy <- r.rdb.BLPop(t.Context(), 5*time.Second, "list").Err() }()
			redistest.Eventually(t, 5*time.Second, "the connection is taken", func() bool {
				return r.Info(t, "clients", "blocked_clients") == "1"
			})
			return func() { r.Do(t, "RPUSH", "list", "x"); must(t, <-busy) }
		}, lock, reentrant.ErrNotAcquired, nil},

		{"acquire in flight", false, func(t *testing.T, r *cancelRig) func() {
			slow(r, "acquire")
			return func() {}
		}, lock, reentrant.ErrNotAcquired, nil},

		{"granted, and the answer not yet looked at", false, func(t *testing.T, r *cancelRig) func() {
			answer := locktest.LateAnswer{Script: "acquire", Released: make(chan struct{})}
			r.rdb.AddHook(answer)
			r.at = func() bool { return len(locktest.Held(t, r.Server, "l")) == 1 }
			return func() { close(answer.Released) }
		}, lock, reentrant.ErrNotAcquired, nil},

		{"giving back what no replica has confirmed", false, func(t *testing.T, r *cancelRig) func() {
			slow(r, "release")
			return func() {}
		}, lock, reentrant.ErrNotAcquired, []reentrant.Option{reentrant.WithReplicaAcks(1, 10*time.Millisecond)}},

		{"waiting for an owner of this client", false, func(t *testing.T, r *cancelRig) func() {
			must(t, r.lock.Lock(owner(t.Context(), "ahead")))
			return func() { must(t, r.lock.Unlock(owner(t.Context(), "ahead"))) }
		}, lock, reentrant.ErrNotAcquired, nil},

		{"waiting for another client", false, func(t *testing.T, r *cancelRig) func() {
			other := faultClient(t, r.Client(t)).NewLock("l")
			must(t, other.Lock(owner(t.Context(), "ahead")))
			return func() { must(t, other.Unlock(owner(t.Context(), "ahead"))) }
		}, lock, reentrant.ErrNotAcquired, nil},

		{"subscribing", false, func(t *testing.T, r *cancelRig) func() {
			other := faultClient(t, r.Client(t)).NewLock("l")
			must(t, other.Lock(owner(t.Context(), "ahead")))
			r.proxy.Blackhole(true, true, faultproxy.PubSub)
			return func() { r.proxy.Heal(); must(t, other.Unlock(owner(t.Context(), "ahead"))) }
		}, lock, reentrant.ErrNotAcquired, nil},

		{"hand-off in flight", false, func(t *testing.T, r *cancelRig) func() {
			ahead := owner(t.Context(), "ahead")
			must(t, r.lock.Lock(ahead))
			slow(r, "transfer")
			released := make(chan error, 1)
			go func() {
				for r.c.Stats().Waiting == 0 {
					time.Sleep(time.Millisecond)
				}
				released <- r.lock.Unlock(ahead)
			}()
			return func() { must(t, <-released) }
		}, lock, reentrant.ErrNotAcquired, nil},

		{"re-entry in flight", false, func(t *testing.T, r *cancelRig) func() {
			must(t, r.lock.Lock(owner(t.Context(), "me")))
			slow(r, "count")
			return func() {
				redistest.Eventually(t, 5*time.Second, "the count is 1 again", func() bool {
					n, err := r.lock.HoldCount(owner(t.Context(), "me"))
					return err == nil && n == 1
				})
				must(t, r.lock.Unlock(owner(t.Context(), "me")))
			}
		}, lock, reentrant.ErrNotAcquired, nil},

		{"unlock in flight", false, func(t *testing.T, r *cancelRig) func() {
			must(t, r.lock.Lock(owner(t.Context(), "me")))
			slow(r, "release")
			return func() {}
		}, func(r *cancelRig, ctx context.Context) error { return r.lock.Unlock(ctx) }, reentrant.ErrUnconfirmed, nil},

		{"unlock of a nested hold in flight", false, func(t *testing.T, r *cancelRig) func() {
			must(t, r.lock.Lock(owner(t.Context(), "me")))
			must(t, r.lock.Lock(owner(t.Context(), "me")))
			slow(r, "count")
			return func() { must(t, r.lock.Unlock(owner(t.Context(), "me"))) }
		}, func(r *cancelRig, ctx context.Context) error { return r.lock.Unlock(ctx) }, reentrant.ErrUnconfirmed, nil},
	} {
		t.Run(step.name, func(t *testing.T) {
			t.Parallel()
			noise := listenToNoise(t)
			r := &cancelRig{faultRig: newFaultRig(t), goOn: func() {}}
			r.rdb = r.through(t, func(o *redis.Options) {
				if step.poolOf1 {
					o.PoolSize = 1
				}
			})
			r.c = faultClient(t, r.rdb, step.opts...)
			r.lock = r.c.NewLock("l")
			end := step.prepare(t, r)
			call := func(ctx context.Context) error { return step.call(r, ctx) }
			var late time.Duration
			var err error
			if step.want == reentrant.ErrUnconfirmed {
				late, err = expireAt(t, r.at, call)
				wants(t, err, step.want, context.DeadlineExceeded)
			} else {
				late, err = cancelAt(t, r.at, 60*time.Millisecond, call)
				wants(t, err, step.want, locktest.ErrGivenUp)
			}
			if late > noise.allow(20*time.Millisecond) { // some 1 ms where nothing else runs
				t.Errorf("returned %v after its cancellation", late)
			}
			r.goOn()
			end()
			locktest.TidyWithin(t, r.Server, 5*time.Second, "l")
			locktest.CloseQuickly(t, r.c) // waits for what is still on its way
			locktest.TidyWithin(t, r.Server, time.Second, "l")
		})
	}
}

// cancelIn is cancelAt for a call whose step is reached after a while.
func cancelIn(t *testing.T, after time.Duration, call func(ctx context.Context) error) (late time.Duration, err error) {
	return cancelAt(t, nil, after, call)
}

// cancelAt makes a call, cancels it when it has been at its step for a while, and says
// how long it took to come back.
func cancelAt(t *testing.T, at func() bool, after time.Duration, call func(ctx context.Context) error) (late time.Duration, err error) {
	ctx, cancel := context.WithCancelCause(owner(t.Context(), "me"))
	defer cancel(nil)
	done := make(chan error, 1)
	go func() { done <- call(ctx) }()
	if at != nil {
		redistest.Eventually(t, 10*time.Second, "the call is at its step", at)
	}
	select {
	case err = <-done:
		t.Errorf("returned %v before its cancellation", err)
		return 0, err
	case <-time.After(after):
	}
	cancelled := time.Now()
	cancel(locktest.ErrGivenUp)
	err = locktest.InTime(t, 10*time.Second, "the cancelled call returns", done)
	return time.Since(cancelled), err
}

// expireAt is cancelAt for a release: its ctx is cancelled when it is at its step, which does not end
// it, and has a deadline, which does.
func expireAt(t *testing.T, at func() bool, release func(ctx context.Context) error) (late time.Duration, err error) {
	return expire(t, at, time.Second, release)
}

// expireIn is cancelIn for a release, which a deadline ends and a cancellation does not.
func expireIn(t *testing.T, limit time.Duration, release func(ctx context.Context) error) (late time.Duration, err error) {
	return expire(t, func() bool { return true }, limit, release)
}

func expire(t *testing.T, at func() bool, limit time.Duration, release func(ctx context.Context) error) (late time.Duration, err error) {
	began := time.Now() // before the deadline's own clock starts
	ctx, cancel := context.WithTimeout(owner(t.Context(), "me"), limit)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- release(ctx) }()
	redistest.Eventually(t, 10*time.Second, "the call is at its step", at)
	cancel()
	err = locktest.InTime(t, 10*time.Second, "the release returns", done)
	late = time.Since(began) - limit
	if late < 0 {
		t.Errorf("returned %v before its deadline", -late)
	}
	return late, err
}
