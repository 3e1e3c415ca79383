package reentrant_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// situation is one in which a call for the lock "l" ends without it.
type situation struct {
	name string
	opts []reentrant.Option
	set  func(v *virtual, c *reentrant.Client) // before the call, of which nobody of c's is the owner

	// end ends a wait of wait by ctx. nil: it ends at its limit.
	end func(ctx context.Context) (context.Context, context.CancelFunc)

	busy bool // what ErrBusy is to say
}

// busyWait is how long a call waits; ctx ends after half of it, where it does.
const busyWait = 4 * lease

func heldBy(owner string) func(v *virtual, _ *reentrant.Client) {
	return func(v *virtual, _ *reentrant.Client) {
		v.mini.HSet("l", owner, "1")
		v.mini.SetTTL("l", time.Hour)
	}
}

func heldByAnotherClient(v *virtual, _ *reentrant.Client) {
	must(v.t, v.client().NewLock("l").Lock(v.ctx))
}

// halfWay calls f when a call that waits is half way to the end of its ctx.
func halfWay(v *virtual, f func()) {
	go func() {
		time.Sleep(busyWait / 4)
		f()
	}()
}

func deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, busyWait/2)
}

func cancelled(cause error) func(ctx context.Context) (context.Context, context.CancelFunc) {
	return func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(ctx)
		stop := time.AfterFunc(busyWait/2, func() { cancel(cause) })
		return ctx, func() { stop.Stop(); cancel(nil) }
	}
}

var otherBusy = &reentrant.NotAcquiredError{Name: "other", Busy: true}

var situations = []situation{
	{name: "another Client", set: heldByAnotherClient, busy: true},
	{name: "another goroutine of this Client", busy: true, set: func(v *virtual, c *reentrant.Client) {
		elsewhere(func() { must(v.t, c.NewLock("l").Lock(v.ctx)) })
	}},
	{name: "Redisson", set: heldBy("0b6ff4c6-0a2f-4a52-9b41-111111111111:7"), busy: true},
	{name: "another Client, until the deadline", set: heldByAnotherClient, end: deadline, busy: true},
	{name: "another goroutine, until the deadline", end: deadline, busy: true, set: func(v *virtual, c *reentrant.Client) {
		elsewhere(func() { must(v.t, c.NewLock("l").Lock(v.ctx)) })
	}},
	{name: "another Client, until a deadline with a cause", set: heldByAnotherClient, busy: true,
		end: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(ctx, busyWait/2, errors.New("no time left"))
		}},
	{name: "another Client, until a cancellation", set: heldByAnotherClient, end: cancelled(nil)},
	{name: "another goroutine, until a cancellation", end: cancelled(nil), set: func(v *virtual, c *reentrant.Client) {
		elsewhere(func() { must(v.t, c.NewLock("l").Lock(v.ctx)) })
	}},
	{name: "another Client, until a cancellation that names a deadline", set: heldByAnotherClient, end: cancelled(context.DeadlineExceeded)},
	{name: "another Client, until a cancellation for another lock", set: heldByAnotherClient, end: cancelled(otherBusy)},
	{name: "Redis refuses", set: func(v *virtual, _ *reentrant.Client) { v.refuseAll(loading) }},
	{name: "Redis refuses for good", set: func(v *virtual, _ *reentrant.Client) { v.refuseAll("NOPERM no") }},
	{name: "Redis refuses, until the deadline", set: func(v *virtual, _ *reentrant.Client) { v.refuseAll(loading) }, end: deadline},
	{name: "Redis is silent", set: func(v *virtual, _ *reentrant.Client) { v.scriptsTake(2 * busyWait) }},
	{name: "Redis is silent, until the deadline", set: func(v *virtual, _ *reentrant.Client) { v.scriptsTake(2 * busyWait) }, end: deadline},
	{name: "a string", set: func(v *virtual, _ *reentrant.Client) { must(v.t, v.mini.Set("l", "x")) }},
	{name: "too few replicas", opts: []reentrant.Option{reentrant.WithReplicaAcks(1, 100*time.Millisecond)},
		set: func(v *virtual, _ *reentrant.Client) {}},
	{name: "a closed Client", set: func(v *virtual, c *reentrant.Client) { must(v.t, c.Close(v.ctx)) }},
}

// changing are those in which the call has had an answer, or none is to be had, when things change.
var changing = []situation{
	{name: "Redis begins to refuse", set: func(v *virtual, c *reentrant.Client) {
		heldByAnotherClient(v, c)
		halfWay(v, func() { v.refuseAll(loading) })
	}},
	{name: "Redis begins to refuse before the deadline", end: deadline, set: func(v *virtual, c *reentrant.Client) {
		heldByAnotherClient(v, c)
		halfWay(v, func() { v.refuseAll(loading) })
	}},
	{name: "the Client closes", set: func(v *virtual, c *reentrant.Client) {
		heldByAnotherClient(v, c)
		halfWay(v, func() { must(v.t, c.Close(v.ctx)) })
	}},
}

// ErrBusy is said exactly where TryLock returns false and nil, and where it would have if the deadline of
// ctx had been its limit.
func TestBusyIsWhatTryLockSays(t *testing.T) {
	for _, wait := range []time.Duration{0, busyWait} {
		for _, s := range append(situations, changing...) {
			if wait == 0 && s.end != nil {
				continue // one attempt that is answered does not last until then
			}
			t.Run(s.name+" "+wait.String(), func(t *testing.T) { sayBusyAlike(t, s, wait) })
		}
	}
}

func sayBusyAlike(t *testing.T, s situation, wait time.Duration) {
	busy := s.busy || wait == 0 && isChanging(s)
	call := func(f func(ctx context.Context, l *reentrant.Lock)) {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			c := v.client(s.opts...)
			s.set(v, c)
			ctx := v.ctx
			if s.end != nil {
				var cancel context.CancelFunc
				ctx, cancel = s.end(ctx)
				defer cancel()
			}
			elsewhere(func() { f(ctx, c.NewLock("l")) })
			v.refuseAll("")
			v.pass(3 * busyWait) // for what the call has left behind
			synctest.Wait()
		})
	}
	call(func(ctx context.Context, l *reentrant.Lock) {
		_, err := l.Acquire(ctx, reentrant.WithWait(wait))
		if errors.Is(err, reentrant.ErrBusy) != busy || !errors.Is(err, reentrant.ErrNotAcquired) {
			t.Errorf("Acquire: %v", err)
		}
		var e *reentrant.NotAcquiredError
		if !errors.As(err, &e) || e.Busy != busy {
			t.Errorf("Busy is not %v: %v", busy, err)
		}
	})
	call(func(ctx context.Context, l *reentrant.Lock) {
		ok, err := l.TryLock(ctx, wait, 0)
		ended := s.end != nil
		if ok || (err == nil) != (busy && !ended) || err != nil && errors.Is(err, reentrant.ErrBusy) != busy {
			t.Errorf("TryLock: %v, %v", ok, err)
		}
	})
}

func isChanging(s situation) bool {
	for _, c := range changing {
		if c.name == s.name {
			return true
		}
	}
	return false
}

// A call for another lock that was busy inside the function is no reason to believe that the function was
// not called.
func TestDoIsNotBusyForAnotherLock(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		elsewhere(func() { must(t, v.client().NewLock("inner").Lock(v.ctx)) })
		c := v.client()
		err := c.NewLock("outer").Do(v.ctx, func(ctx context.Context) error {
			_, err := c.NewLock("inner").Acquire(ctx, reentrant.WithWait(0))
			if !errors.Is(err, reentrant.ErrBusy) {
				t.Errorf("inner: %v", err)
			}
			return err
		})
		var e *reentrant.NotAcquiredError
		if errors.Is(err, reentrant.ErrBusy) || !errors.Is(err, reentrant.ErrNotAcquired) || !errors.As(err, &e) || e.Name != "inner" {
			t.Errorf("outer: %v", err)
		}
	})
}

// A loss that the function returns is told once.
func TestDoTellsALossOnce(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		failed := errors.New("the work failed")
		err := v.client().NewLock("l").Do(v.ctx, func(ctx context.Context) error {
			v.mini.Del("l")
			<-ctx.Done()
			return errors.Join(failed, context.Cause(ctx))
		})
		var lost *reentrant.LostError
		if !errors.Is(err, reentrant.ErrLost) || !errors.As(err, &lost) || !errors.Is(err, failed) {
			t.Errorf("error is %v", err)
		}
		if want := failed.Error() + "\n" + lost.Error(); err.Error() != want {
			t.Errorf("error is\n%v\nwant\n%v", err, want)
		}
	})
}
