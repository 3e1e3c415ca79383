package reentrant_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// reader names the ith reader.
func (v *virtual) reader(i int) context.Context { return owner(v.ctx, fmt.Sprint("r", i)) }

// Ten thousand readers of one Client are one field, one marker, one script at each end, and one renewal.
func TestTimeReadersShareALease(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		const readers = 10_000
		c := v.client()
		rw := c.NewReadWriteLock("rw")
		for i := range readers {
			must(t, rw.RLock(v.reader(i)))
		}
		if n := v.scripts(); n != 1 {
			t.Errorf("%d scripts", n)
		}
		if got := v.fields("rw"); len(got) != 2 || got[c.ID()+":=readers"] != "1" || len(v.mini.Keys()) != 2 {
			t.Errorf("%v, keys %v", got, v.mini.Keys())
		}
		if s := c.Stats(); s.Held != readers || s.Shared != readers-1 || s.Acquired != readers {
			t.Errorf("%+v", s)
		}
		v.pass(lease)
		if n, s := v.scripts(), c.Stats(); n > 4 || s.Renewals != uint64(n) || s.Losses > 0 {
			t.Errorf("%d scripts, %+v", n, s)
		}
		for i := range readers - 1 {
			must(t, rw.RUnlock(v.reader(i)))
		}
		if n := v.scripts(); n != 0 {
			t.Errorf("%d scripts while there are readers", n)
		}
		must(t, rw.RUnlock(v.reader(readers-1)))
		if n := v.scripts(); n != 1 || v.mini.Exists("rw") || c.Stats().Held != 0 {
			t.Errorf("%d scripts, %v, %+v", n, v.fields("rw"), c.Stats())
		}
	})
}

// Each owner of a shared lease has a hold count of its own.
func TestTimeSharedCounts(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		rw := v.client().NewReadWriteLock("rw")
		for i := range 3 {
			for range i + 1 {
				must(t, rw.RLock(v.reader(i)))
			}
		}
		must(t, rw.RUnlock(v.reader(0)))
		for i := range 3 {
			want := []int{0, 2, 3}[i]
			if n, err := rw.Read().HoldCount(v.reader(i)); n != want || err != nil {
				t.Errorf("r%d has %d holds, %v", i, n, err)
			}
			if held, err := rw.Read().IsHeld(v.reader(i)); held != (want > 0) || err != nil {
				t.Errorf("r%d holds: %v, %v", i, held, err)
			}
		}
		info, err := rw.Read().Info(v.ctx)
		must(t, err)
		if info.Holder.Owner != "r1" || info.Count != 2 || len(info.Others) != 1 || info.Others[0].Owner != "r2" {
			t.Errorf("%+v", info)
		}
		elsewhere, err := v.client().NewReadWriteLock("rw").Read().Info(v.ctx)
		must(t, err)
		if h := elsewhere.Holder; !elsewhere.Held || h.Here || !h.Reads || h.Owner != "" || len(elsewhere.Others) != 0 {
			t.Errorf("%+v", elsewhere)
		}
		wants(t, rw.RUnlock(v.reader(0)), reentrant.ErrNotHeld)
	})
}

// Once Redis' last word is older than 10 ms, one command asks for all arrivals. It finds that the lock was opened by
// force, and each reader that had it hears of its loss.
func TestTimeSharedGroupAsksOnce(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		var lost atomic.Int64
		c := v.client(reentrant.WithEvents(reentrant.Events{Lost: func(reentrant.Event) { lost.Add(1) }}))
		rw := c.NewReadWriteLock("rw")
		enter := func(from, n int) {
			t.Helper()
			v.scriptsTake(time.Millisecond)
			var all []*pending
			for i := range n {
				all = append(all, begin(func() error { return rw.RLock(v.reader(from + i)) }))
			}
			for _, p := range all {
				must(t, p.wait())
			}
		}
		enter(0, 50)
		v.scripts()
		v.pass(20 * time.Millisecond)
		enter(50, 50)
		if n := v.scripts(); n != 1 {
			t.Errorf("%d scripts for fifty readers", n)
		}
		hold, err := rw.Read().Acquire(v.reader(1000))
		must(t, err)
		v.pass(20 * time.Millisecond)
		must(t, locktest.Tried(v.client().NewReadWriteLock("rw").Read().ForceUnlock(v.ctx)))
		enter(200, 10)
		synctest.Wait()
		if n := lost.Load(); n != 101 || c.Stats().Losses != 101 || c.Stats().Held != 10 {
			t.Errorf("%d losses, %+v", n, c.Stats())
		}
		select {
		case <-hold.Lost():
		default:
			t.Error("Lost is not closed")
		}
		wants(t, context.Cause(hold.Context()), reentrant.ErrLost)
		wants(t, hold.Release(v.ctx), reentrant.ErrLost)
		for i := range 100 {
			wants(t, rw.RUnlock(v.reader(i)), reentrant.ErrLost)
		}
		for i := range 10 {
			must(t, rw.RUnlock(v.reader(200+i)))
		}
	})
}

// A writer of another Client is heard of within 10 ms, and one of this Client at once: no further reader enters.
func TestTimeSharedHearsWriters(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		for _, same := range []bool{false, true} {
			c := v.client()
			rw, of := c.NewReadWriteLock("rw"), c
			if !same {
				of = v.client()
			}
			must(t, rw.RLock(v.reader(0)))
			v.pass(20 * time.Millisecond)
			must(t, rw.RLock(v.reader(1)))
			writer := begin(func() error { return of.NewReadWriteLock("rw").Lock(owner(v.ctx, "w")) })
			v.pass(11 * time.Millisecond)
			if ok, err := rw.TryRLock(v.reader(2), 0, 0); ok || err != nil {
				t.Fatalf("same Client %v: a reader overtakes a writer: %v, %v", same, ok, err)
			}
			must(t, rw.RLock(v.reader(1))) // nested
			must(t, rw.RUnlock(v.reader(1)))
			must(t, rw.RUnlock(v.reader(0)))
			must(t, rw.RUnlock(v.reader(1)))
			must(t, writer.wait())
			reader := begin(func() error { return rw.RLock(v.reader(2)) })
			v.pass(time.Second)
			if reader.over() {
				t.Fatal("a reader beside a writer")
			}
			must(t, of.NewReadWriteLock("rw").Unlock(owner(v.ctx, "w")))
			must(t, reader.wait())
			must(t, rw.RUnlock(v.reader(2)))
		}
	})
}

// A reader that was barred enters once the writer has gone, though the readers before it go on.
func TestTimeSharedBarrierEnds(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		rw := v.client().NewReadWriteLock("rw")
		must(t, rw.RLock(v.reader(0)))
		ctx, cancel := context.WithCancel(v.ctx)
		writer := begin(func() error { return v.client().NewReadWriteLock("rw").Lock(ctx) })
		v.pass(time.Second)
		var readers []*pending
		for i := range 5 {
			readers = append(readers, begin(func() error { return rw.RLock(v.reader(1 + i)) }))
		}
		v.pass(time.Second)
		cancel()
		wants(t, writer.wait(), context.Canceled)
		left := time.Now()
		for i, r := range readers {
			must(t, r.wait())
			if late := r.at.Sub(left); late > 20*time.Millisecond {
				t.Errorf("reader %d came %v after the writer had left", i, late)
			}
			must(t, rw.RUnlock(v.reader(1+i)))
		}
		must(t, rw.RUnlock(v.reader(0)))
	})
}

// When Redis is silent for longer than the lease, each owner of it has lost the lock.
func TestTimeSharedLeaseEnds(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		rw := c.NewReadWriteLock("rw")
		var holds []*reentrant.Hold
		for i := range 10 {
			h, err := rw.Read().Acquire(v.reader(i))
			must(t, err)
			holds = append(holds, h)
		}
		v.refuseAll("LOADING")
		v.pass(lease)
		for _, h := range holds {
			wants(t, context.Cause(h.Context()), reentrant.ErrLost)
			var lost *reentrant.LostError
			if err := h.Release(v.ctx); !errors.As(err, &lost) || lost.Reason != reentrant.LeaseEnded || lost.Owner != h.Owner() {
				t.Errorf("%v", err)
			}
		}
		v.refuseAll("")
		v.pass(lease)
		if v.mini.Exists("rw") || c.Stats().Held != 0 || c.Stats().Losses != 10 {
			t.Errorf("%v, %+v", v.fields("rw"), c.Stats())
		}
	})
}

// A fixed lease inside a shared one bounds the owner's time once it is all that the owner has. The others go on.
func TestTimeSharedFixedInside(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		rw := v.client().NewReadWriteLock("rw")
		must(t, rw.RLock(v.reader(0)))
		me := v.reader(1)
		outer, err := rw.Read().Acquire(me)
		must(t, err)
		must(t, rw.Read().LockLease(me, 2*lease))
		inner, err := rw.Read().Acquire(me, reentrant.WithFixedLease(lease))
		must(t, err)
		must(t, inner.Extend(v.ctx, 3*lease))
		must(t, outer.Release(v.ctx))
		v.pass(2*lease + lease/2)
		if until := time.Until(inner.ValidUntil()); until <= 0 || until > lease {
			t.Errorf("valid for %v", until)
		}
		v.pass(lease)
		wants(t, context.Cause(inner.Context()), reentrant.ErrLost)
		wants(t, inner.Release(v.ctx), reentrant.ErrLost)
		wants(t, rw.RUnlock(me), reentrant.ErrLost)
		v.pass(10 * lease)
		must(t, rw.RUnlock(v.reader(0)))

		// It is the last reader.
		outer, err = rw.Read().Acquire(me)
		must(t, err)
		must(t, rw.Read().LockLease(me, time.Second))
		must(t, outer.Release(v.ctx))
		v.pass(2 * time.Second)
		if v.mini.Exists("rw") {
			t.Errorf("%v", v.fields("rw"))
		}
		wants(t, rw.RUnlock(me), reentrant.ErrLost)
	})
}

// A fixed lease that was over long before the owner's last renewed hold ends with that.
func TestTimeSharedFixedOverLongBefore(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		rw := v.client().NewReadWriteLock("rw")
		me := v.reader(1)
		outer, err := rw.Read().Acquire(me)
		must(t, err)
		must(t, rw.Read().LockLease(me, time.Second))
		v.pass(10 * lease)
		must(t, outer.Release(v.ctx))
		v.pass(time.Second)
		if v.mini.Exists("rw") {
			t.Errorf("%v", v.fields("rw"))
		}
		wants(t, rw.RUnlock(me), reentrant.ErrLost)
	})
}

// A fixed read that has waited behind another call of its owner begins when that has the lock, and not when it was called.
func TestTimeSharedFixedHasWaited(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		rw := v.client().NewReadWriteLock("rw")
		writer, me := owner(v.ctx, "writer"), v.reader(1)
		must(t, rw.Lock(writer))
		var holds [2]*reentrant.Hold // the second one is fixed
		var calls sync.WaitGroup
		for i, options := range [][]reentrant.AcquireOption{nil, {reentrant.WithFixedLease(lease)}} {
			calls.Go(func() {
				hold, err := rw.Read().Acquire(me, options...)
				if err != nil {
					t.Error(err)
				}
				holds[i] = hold
			})
			v.pass(time.Second)
		}
		v.pass(2 * lease)
		must(t, rw.Unlock(writer))
		calls.Wait()
		renewed, fixed := holds[0], holds[1]
		must(t, renewed.Release(v.ctx))
		v.pass(lease / 2)
		must(t, context.Cause(fixed.Context()))
		v.pass(lease)
		wants(t, fixed.Release(v.ctx), reentrant.ErrLost)
	})
}

// Who has a lease that ends by itself, or is watched by itself, has a field of its own.
func TestTimeNotShared(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		rw := c.NewReadWriteLock("rw")
		fields := func(c *reentrant.Client, readers ...string) {
			t.Helper()
			got := v.fields("rw")
			for _, name := range readers {
				if got[c.ID()+":="+name] != "1" {
					t.Errorf("no field of %s: %v", name, got)
				}
			}
			if len(got) != 1+len(readers) {
				t.Errorf("%v", got)
			}
		}
		must(t, rw.Read().LockLease(v.reader(0), lease))
		both, err := multilock.New(rw.Read(), c.NewLock("other"))
		must(t, err)
		must(t, both.Lock(v.reader(1)))
		must(t, rw.RLock(v.reader(2)))
		fields(c, "reader:r0", "reader:r1", "readers")
		must(t, rw.RUnlock(v.reader(0)))
		must(t, both.Unlock(v.reader(1)))
		must(t, rw.RUnlock(v.reader(2)))
		limited := v.client(reentrant.WithMaxHold(time.Minute))
		must(t, limited.NewReadWriteLock("rw").RLock(v.reader(0)))
		must(t, limited.NewReadWriteLock("rw").RLock(v.reader(1)))
		fields(limited, "reader:r0", "reader:r1")
	})
}

// ReleaseAfter of one reader keeps writers out for its time, and the others read on.
func TestTimeSharedReleaseAfter(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		rw := v.client().NewReadWriteLock("rw")
		must(t, rw.RLock(v.reader(0)))
		hold, err := rw.Read().Acquire(v.reader(1))
		must(t, err)
		must(t, rw.RLock(v.reader(1)))
		wants(t, hold.ReleaseAfter(v.ctx, time.Minute), reentrant.ErrNested)
		must(t, rw.RUnlock(v.reader(1)))
		released := time.Now()
		must(t, hold.ReleaseAfter(v.ctx, time.Minute))
		wants(t, hold.ReleaseAfter(v.ctx, time.Minute), reentrant.ErrNotHeld)
		v.pass(time.Second)
		must(t, rw.RUnlock(v.reader(0)))
		must(t, rw.Lock(v.reader(2)))
		if took := time.Since(released); took < time.Minute || took > time.Minute+time.Second {
			t.Errorf("the writer came after %v", took)
		}
	})
}

// While a client of Redisson listens, a shared lease admits 16 readers or for 100 ms, and ends then.
func TestTimeSharedBesideRedisson(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		rw := v.client().NewReadWriteLock("rw")
		sub := v.rdb[1].Subscribe(v.ctx, "redisson_rwlock:{rw}")
		defer sub.Close()
		_, err := sub.Receive(v.ctx)
		must(t, err)
		must(t, rw.RLock(v.reader(0)))
		v.pass(20 * time.Millisecond)
		for i := range 15 {
			must(t, rw.RLock(v.reader(1+i)))
		}
		late := begin(func() error { return rw.RLock(v.reader(16)) })
		v.pass(time.Second)
		if late.over() {
			t.Fatal("the lease does not end")
		}
		for i := range 16 {
			must(t, rw.RUnlock(v.reader(i)))
		}
		must(t, late.wait())
		must(t, rw.RUnlock(v.reader(16)))
	})
}

// Close lets readers release, and then tells each that is left.
func TestTimeSharedClose(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		var unconfirmed []string
		c := v.client(reentrant.WithEvents(reentrant.Events{Unconfirmed: func(e reentrant.Event) { unconfirmed = append(unconfirmed, e.Owner) }}))
		rw := c.NewReadWriteLock("rw")
		var holds []*reentrant.Hold
		for i := range 3 {
			h, err := rw.Read().Acquire(v.reader(i))
			must(t, err)
			holds = append(holds, h)
		}
		ctx, cancel := context.WithTimeout(v.ctx, 5*time.Second)
		defer cancel()
		closing := begin(func() error { return c.Close(ctx) })
		v.pass(time.Second)
		must(t, holds[0].Release(v.ctx))
		wants(t, rw.RLock(v.reader(5)), reentrant.ErrClosed)
		wants(t, closing.wait(), context.DeadlineExceeded)
		for _, h := range holds[1:] {
			wants(t, context.Cause(h.Context()), reentrant.ErrClosed)
		}
		slices.Sort(unconfirmed)
		if want := []string{holds[1].Owner(), holds[2].Owner()}; !slices.Equal(unconfirmed, want) {
			t.Errorf("%v", unconfirmed)
		}
	})
}
