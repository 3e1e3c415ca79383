package reentrant_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

type callKey struct{}

// call is a ctx that is told from others by its value, as that of a request is by its trace.
func call(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, callKey{}, name)
}

// callOf is the call that an event was told of, empty if of none.
func callOf(e reentrant.Event) string {
	name, _ := e.Ctx.Value(callKey{}).(string)
	return name
}

// every notes all events.
func (j *journal) every() reentrant.Option {
	return reentrant.WithEvents(reentrant.Events{
		Waiting: j.note("waiting"), Acquired: j.note("acquired"), Reentered: j.note("re-entered"), NotAcquired: j.note("not acquired"),
		HandedOver: j.note("handed over"), Renewed: j.note("renewed"), RenewFailed: j.note("renew failed"),
		Lost: j.note("lost"), Released: j.note("released"), Unconfirmed: j.note("unconfirmed"), Resubscribed: j.note("resubscribed"),
	})
}

// A call that ends without the lock is told of with its cause, as far as the caller is told.
func TestTimeEventNotAcquired(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		j := &journal{}
		c, other := v.client(j.every()), v.client()
		elsewhere(func() { must(t, other.NewLock("job").Lock(v.ctx)) })
		l := c.NewLock("job")
		refused := func(busy bool, waited time.Duration, err error, sentinels ...error) {
			t.Helper()
			events := j.take(t, "not acquired")
			e := events[0]
			wants(t, err, append(sentinels, reentrant.ErrNotAcquired)...)
			if e.Err != err || e.Name != "job" || e.Waited != waited || callOf(e) != "me" || e.Owner != c.ID()+":me" || errors.Is(err, reentrant.ErrBusy) != busy {
				t.Errorf("event is %+v for %v", e, err)
			}
			if busy && e.Holder == "" {
				t.Error("nobody says who has it")
			}
		}
		me := call(reentrant.WithOwner(v.ctx, "me"), "me")
		_, err := l.Acquire(me, reentrant.WithWait(0))
		refused(true, 0, err, reentrant.ErrBusy)

		ctx, cancel := context.WithTimeout(me, lease)
		err = l.Lock(ctx)
		cancel()
		if e := j.take(t, "waiting", "not acquired"); callOf(e[0]) != "me" || e[1].Err != err || e[1].Waited != lease {
			t.Errorf("events are %+v", e)
		}

		ctx, cancel = context.WithCancel(me)
		cancel()
		refused(false, 0, l.Lock(ctx), context.Canceled)

		v.refuseAll("NOPERM no")
		refused(false, 0, l.Lock(me))
		v.refuseAll("")
		if s := c.Stats(); s.NotAcquired != 4 || s.Busy != 2 || s.Acquired != 0 {
			t.Errorf("stats are %+v", s)
		}

		if err := l.LockLease(me, 0); err == nil {
			t.Error("a lease of nothing")
		}
		j.take(t) // nothing was asked for

		must(t, c.Close(v.ctx))
		refused(false, 0, l.Lock(me), reentrant.ErrClosed)
	})
}

// A nested call that finds the lock lost has not acquired it either.
func TestTimeEventNestedCallFindsALoss(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		j := &journal{}
		l := v.client(j.every()).NewLock("job")
		must(t, l.Lock(call(v.ctx, "outer")))
		v.mini.FlushAll()
		err := l.Lock(call(v.ctx, "inner"))
		wants(t, err, reentrant.ErrLost)
		e := j.take(t, "acquired", "lost", "not acquired")
		if callOf(e[0]) != "outer" || callOf(e[2]) != "inner" || e[2].Err != err {
			t.Errorf("events are %+v", e)
		}
		wants(t, l.Unlock(v.ctx), reentrant.ErrLost)
	})
}

// An event carries the ctx of the call that it is about, and none of another's.
func TestTimeEventsCarryTheCall(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		j := &journal{}
		l := v.client(j.every()).NewLock("job")
		calls := func(want ...string) {
			t.Helper()
			j.mu.Lock()
			defer j.mu.Unlock()
			var got []string
			for i, kind := range j.kinds {
				got = append(got, kind+" by "+callOf(j.events[i]))
			}
			if len(got) != len(want) {
				t.Fatalf("events %q, want %q", got, want)
			}
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("events %q, want %q", got, want)
				}
			}
			j.kinds, j.events = nil, nil
		}
		me := reentrant.WithOwner(v.ctx, "me")
		must(t, l.Lock(call(me, "Lock")))
		must(t, l.Lock(call(me, "nested Lock")))
		must(t, l.Unlock(call(me, "inner Unlock")))
		v.pass(lease / 3)
		calls("acquired by Lock", "re-entered by nested Lock", "renewed by ")

		waiter := begin(func() error { return l.Lock(call(reentrant.WithOwner(v.ctx, "you"), "waiting Lock")) })
		v.pass(time.Millisecond)
		must(t, l.Unlock(call(me, "Unlock")))
		must(t, waiter.wait())
		calls("waiting by waiting Lock", "handed over by waiting Lock", "acquired by waiting Lock")
		you := reentrant.WithOwner(v.ctx, "you")
		must(t, l.Unlock(call(you, "Unlock")))
		calls("released by Unlock")

		hold, err := l.Acquire(call(me, "Acquire"))
		must(t, err)
		v.mini.FlushAll()
		wants(t, hold.Release(call(v.ctx, "Release")), reentrant.ErrLost)
		calls("acquired by Acquire", "lost by Release")

		must(t, l.Lock(call(me, "Lock")))
		must(t, l.Lock(call(me, "nested Lock")))
		must(t, l.Unlock(call(me, "inner Unlock")))
		v.mini.FlushAll()
		v.pass(lease / 3)
		calls("acquired by Lock", "re-entered by nested Lock", "lost by ")
		wants(t, l.Unlock(me), reentrant.ErrLost)

		must(t, l.Lock(call(me, "Lock")))
		v.refuseAll("NOPERM no")
		wants(t, l.Unlock(call(me, "Unlock")), reentrant.ErrUnconfirmed)
		v.refuseAll("")
		calls("acquired by Lock", "unconfirmed by Unlock")
		v.pass(2 * lease)
	})
}

// Two parts of a program that each want events both get them, in order, whatever the first does.
func TestTimeEventsAddUp(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		metrics, traces, third := &journal{}, &journal{}, &journal{}
		l := v.client(metrics.every(), traces.every(), reentrant.WithEvents(reentrant.Events{Released: third.note("released")})).NewLock("job")
		must(t, l.Lock(v.ctx))
		elsewhere(func() { _, _ = l.TryLock(v.ctx, 0, 0) })
		must(t, l.Unlock(v.ctx))
		for _, j := range []*journal{metrics, traces} {
			j.take(t, "acquired", "not acquired", "released")
		}
		third.take(t, "released")

		loud := reentrant.WithEvents(reentrant.Events{NotAcquired: func(reentrant.Event) { panic("first") }})
		l = v.client(loud, traces.every()).NewLock("job")
		ctx, cancel := context.WithCancel(v.ctx)
		cancel()
		func() {
			defer func() {
				if recover() != "first" {
					t.Error("the panic was swallowed")
				}
			}()
			_ = l.Lock(ctx)
		}()
		traces.take(t, "not acquired")
	})
}
