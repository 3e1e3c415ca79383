package reentrant_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

// Twenty readers of two Clients read together; a writer waits for all of them, and they wait for it.
func TestTimeReadersTogether(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		locks := []*reentrant.ReadWriteLock{v.client().NewReadWriteLock("rw"), v.client().NewReadWriteLock("rw")}
		for i := range 20 {
			must(t, locks[i%2].RLock(owner(v.ctx, fmt.Sprint("r", i))))
		}
		w := owner(v.ctx, "w")
		if ok, err := locks[0].TryLock(w, 5*time.Second, 0); ok || err != nil {
			t.Fatalf("a writer beside readers: %v, %v", ok, err)
		}
		writer := begin(func() error { return locks[0].Lock(w) })
		v.pass(3 * lease)
		for i := range 20 {
			if writer.over() {
				t.Fatal("the writer is in before the last reader has left")
			}
			must(t, locks[i%2].RUnlock(owner(v.ctx, fmt.Sprint("r", i))))
		}
		released := time.Now()
		must(t, writer.wait())
		if late := writer.at.Sub(released); late > 20*time.Millisecond {
			t.Fatalf("the writer came %v after the last reader had left", late)
		}
		var readers []*pending
		for i := range 20 {
			readers = append(readers, begin(func() error { return locks[i%2].RLock(owner(v.ctx, fmt.Sprint("r", i))) }))
		}
		v.pass(3 * lease)
		must(t, locks[0].Unlock(w))
		released = time.Now()
		for i, r := range readers {
			must(t, r.wait())
			if late := r.at.Sub(released); late > 200*time.Millisecond {
				t.Fatalf("reader %d came %v after the write", i, late)
			}
			must(t, locks[i%2].RUnlock(owner(v.ctx, fmt.Sprint("r", i))))
		}
		synctest.Wait()
		if v.mini.Exists("rw") {
			t.Fatal(v.fields("rw"))
		}
	})
}

// Both sides nest, and count for themselves. Renewal keeps both for many leases.
func TestTimeReadWriteNesting(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		rw := v.client().NewReadWriteLock("rw")
		me := owner(v.ctx, "me")
		count := func(l *reentrant.Lock) int {
			n, err := l.HoldCount(me)
			must(t, err)
			return n
		}
		must(t, rw.Lock(me))
		must(t, rw.Lock(me))
		must(t, rw.RLock(me))
		must(t, rw.RLock(me))
		if w, r := count(rw.Write()), count(rw.Read()); w != 2 || r != 2 {
			t.Fatalf("%d writes, %d reads", w, r)
		}
		v.pass(10 * lease)
		must(t, rw.Unlock(me))
		must(t, rw.RUnlock(me))
		if w, r := count(rw.Write()), count(rw.Read()); w != 1 || r != 1 {
			t.Fatalf("%d writes, %d reads", w, r)
		}
		must(t, rw.Unlock(me))
		other := v.client().NewReadWriteLock("rw")
		if ok, err := other.TryRLock(owner(v.ctx, "other"), 0, 0); !ok || err != nil {
			t.Fatalf("a reader beside a reader that has written: %v, %v", ok, err)
		}
		must(t, other.RUnlock(owner(v.ctx, "other")))
		v.pass(10 * lease)
		must(t, rw.RUnlock(me))
		wants(t, rw.RUnlock(me), reentrant.ErrNotHeld)
		wants(t, rw.Unlock(me), reentrant.ErrNotHeld)
		if v.mini.Exists("rw") {
			t.Fatal(v.fields("rw"))
		}
	})
}

// An owner that reads cannot write: the call says so at once, and sends nothing.
func TestTimeUpgrade(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		rw := v.client().NewReadWriteLock("rw")
		ctx, cancel := context.WithTimeout(v.ctx, time.Minute)
		defer cancel()
		me := owner(ctx, "me")
		must(t, rw.RLock(me))
		v.scripts()
		wants(t, rw.Lock(me), reentrant.ErrUpgrade, reentrant.ErrNotAcquired)
		ok, err := rw.TryLock(me, time.Hour, 0)
		wants(t, err, reentrant.ErrUpgrade)
		_, err = rw.Write().Acquire(me, reentrant.WithWait(0))
		var upgrade *reentrant.UpgradeError
		if !errors.As(err, &upgrade) || upgrade.Name != "rw" || ok || errors.Is(err, reentrant.ErrBusy) {
			t.Fatalf("%v, %v", ok, err)
		}
		if n := v.scripts(); n != 0 {
			t.Fatalf("%d scripts", n)
		}
		must(t, rw.RUnlock(me))
		must(t, rw.Lock(me))
		must(t, rw.Unlock(me))
	})
}

// A ctx that comes from the hold of one side is the same owner's on the other side. The read is to outlive the write, and
// so must its ctx.
func TestTimeDowngradeByCtx(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		rw := v.client().NewReadWriteLock("rw")
		writing, err := rw.Write().Acquire(v.ctx)
		must(t, err)
		bounded := reentrant.WithWait(time.Minute)
		waiting := begin(func() error { return rw.RLock(owner(v.ctx, "other")) })
		v.pass(time.Millisecond)
		var reading *reentrant.Hold
		elsewhere(func() { reading, err = rw.Read().Acquire(context.WithoutCancel(writing.Context()), bounded) })
		must(t, err)
		if waiting.over() {
			t.Fatal("another owner reads during the write")
		}
		must(t, writing.Release(v.ctx))
		must(t, waiting.wait())
		elsewhere(func() { err = rw.Lock(reading.Context()) })
		wants(t, err, reentrant.ErrUpgrade)
		must(t, reading.Release(v.ctx))
		must(t, rw.RUnlock(owner(v.ctx, "other")))
	})
}

// A writer that waits keeps further readers out, of its own Client and of others; nested reads go on.
func TestTimeWriterIsNotStarved(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		a, b := v.client().NewReadWriteLock("rw"), v.client().NewReadWriteLock("rw")
		first := owner(v.ctx, "first")
		must(t, a.RLock(first))
		writer := begin(func() error { return a.Lock(owner(v.ctx, "w")) })
		v.pass(10 * time.Millisecond)
		here := begin(func() error { return a.RLock(owner(v.ctx, "here")) })
		there := begin(func() error { return b.RLock(owner(v.ctx, "there")) })
		v.pass(20 * time.Second)
		if here.over() || there.over() || writer.over() {
			t.Fatal("somebody is in")
		}
		must(t, a.RLock(first))
		must(t, a.RUnlock(first))
		must(t, a.RUnlock(first))
		must(t, writer.wait())
		v.pass(time.Second)
		if here.over() || there.over() {
			t.Fatal("a reader is in beside the writer")
		}
		must(t, a.Unlock(owner(v.ctx, "w")))
		must(t, here.wait())
		must(t, there.wait())
	})
}

// With WithReadersFirst a writer that waits bars nobody.
func TestTimeReadersFirst(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		a, b := v.client().NewReadWriteLock("rw", reentrant.WithReadersFirst()), v.client().NewReadWriteLock("rw", reentrant.WithReadersFirst())
		must(t, a.RLock(owner(v.ctx, "first")))
		writer := begin(func() error { return a.Lock(owner(v.ctx, "w")) })
		v.pass(5 * time.Second)
		must(t, b.RLock(owner(v.ctx, "there")))
		must(t, a.RUnlock(owner(v.ctx, "first")))
		must(t, b.RUnlock(owner(v.ctx, "there")))
		must(t, writer.wait())
	})
}

// A writer whose process dies while it waits bars readers for 3 s at most.
func TestTimeDeadWriterBarsNobody(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		a, b := v.client().NewReadWriteLock("rw"), v.client().NewReadWriteLock("rw")
		must(t, a.RLock(owner(v.ctx, "first")))
		dying := v.client()
		ctx, cancel := context.WithCancel(v.ctx)
		writer := begin(func() error { return dying.NewReadWriteLock("rw").Lock(ctx) })
		v.pass(10 * time.Second)
		reader := begin(func() error { return b.RLock(owner(v.ctx, "r")) })
		v.pass(time.Second)
		if reader.over() {
			t.Fatal("no barrier")
		}
		cancel()
		wants(t, writer.wait(), context.Canceled)
		left := time.Now()
		must(t, reader.wait())
		if late := reader.at.Sub(left); late > 20*time.Millisecond {
			t.Fatalf("the reader came %v after the writer had left", late)
		}
	})
}

// A writer whose process is killed while it waits, and takes nothing back, bars readers for 3 s.
func TestTimeKilledWriterBarsForThreeSeconds(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		a, b := v.client().NewReadWriteLock("rw"), v.client().NewReadWriteLock("rw")
		must(t, a.RLock(owner(v.ctx, "first")))
		var dead atomic.Bool
		dying := newClient(t, v.wrapped(func(conn net.Conn) net.Conn { return mortalConn{conn, &dead} }))
		ctx, cancel := context.WithCancel(v.ctx)
		writer := begin(func() error { return dying.NewReadWriteLock("rw").Lock(ctx) })
		v.pass(10 * time.Second)
		if !v.mini.Exists("redlatch_turn:{rw}:barrier") {
			t.Fatal("no barrier")
		}
		dead.Store(true)
		killed := time.Now()
		readers := []*pending{
			begin(func() error { return a.RLock(owner(v.ctx, "r")) }),
			begin(func() error { return b.RLock(owner(v.ctx, "r")) }),
		}
		v.pass(time.Second)
		for i, r := range readers {
			if r.over() {
				t.Errorf("reader %d enters before the barrier ends", i)
			}
		}
		for i, r := range readers {
			must(t, r.wait())
			if after := r.at.Sub(killed); after > 3*time.Second+20*time.Millisecond {
				t.Errorf("reader %d was barred for %v", i, after)
			}
		}
		cancel()
		wants(t, writer.wait(), context.Canceled)
	})
}

// mortalConn is a connection of a process that may die: nothing leaves it then.
type mortalConn struct {
	net.Conn
	dead *atomic.Bool
}

func (c mortalConn) Write(b []byte) (int, error) {
	if c.dead.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// A fixed read keeps its lease when Redisson's watchdog makes the key's TTL shorter for a reader of its own, and dies.
func TestTimeFixedReadIsGuarded(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		rw := c.NewReadWriteLock("rw")
		hold, err := rw.Read().Acquire(owner(v.ctx, "long"), reentrant.WithFixedLease(20*lease))
		must(t, err)
		until := hold.ValidUntil()
		v.pass(lease)
		v.mini.SetTTL("rw", lease/2)
		writer := begin(func() error { return v.client().NewReadWriteLock("rw").Lock(owner(v.ctx, "w")) })
		v.pass(lease / 2)
		if left := v.ttl("rw"); left < 18*lease {
			t.Errorf("the lock lives for %v", left)
		}
		v.pass(17 * lease)
		if writer.over() || hold.Context().Err() != nil || !hold.ValidUntil().Equal(until) {
			t.Errorf("%v, valid until %v, at first %v", context.Cause(hold.Context()), hold.ValidUntil(), until)
		}
		must(t, writer.wait())
		wants(t, hold.Release(v.ctx), reentrant.ErrLost)
		if after := time.Until(until); after > 0 || after < -lease || c.Stats().Renewals != 0 {
			t.Errorf("the writer came %v after the lease, %+v", -after, c.Stats())
		}
	})
}

// Readers with leases of 10 s and 3 s are in the way of a writer for 10 s.
func TestTimeReadLeasesExpire(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		a, b := v.client().NewReadWriteLock("rw"), v.client().NewReadWriteLock("rw")
		began := time.Now()
		must(t, a.Read().LockLease(owner(v.ctx, "long"), 10*time.Second))
		must(t, b.Read().LockLease(owner(v.ctx, "short"), 3*time.Second))
		must(t, b.Lock(owner(v.ctx, "w")))
		if took := time.Since(began); took < 10*time.Second || took > 10200*time.Millisecond {
			t.Fatalf("the writer came after %v", took)
		}
		wants(t, a.RUnlock(owner(v.ctx, "long")), reentrant.ErrLost)
		must(t, b.Unlock(owner(v.ctx, "w")))
	})
}

// A write lease that ends inside a renewed read of the same owner frees the lock for other readers.
func TestTimeWriteLeaseEndsInsideRead(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		a, b := v.client().NewReadWriteLock("rw"), v.client().NewReadWriteLock("rw")
		me := owner(v.ctx, "me")
		must(t, a.Write().LockLease(me, 2*time.Second))
		must(t, a.RLock(me))
		v.pass(3 * time.Second)
		if got := v.fields("rw")["mode"]; got != "read" {
			t.Fatalf("%v", v.fields("rw"))
		}
		must(t, b.RLock(owner(v.ctx, "other")))
		wants(t, a.Unlock(me), reentrant.ErrLost)
		must(t, a.RUnlock(me))
		must(t, b.RUnlock(owner(v.ctx, "other")))
	})
}

// ForceUnlock of one side leaves the other one, and the Client's own holders hear of it.
func TestTimeForceOneSide(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		rw := c.NewReadWriteLock("rw")
		me, you := owner(v.ctx, "me"), owner(v.ctx, "you")
		reading, err := rw.Read().Acquire(me)
		must(t, err)
		second, err := rw.Read().Acquire(you)
		must(t, err)
		if freed, err := rw.Write().ForceUnlock(me); freed || err != nil {
			t.Fatal(freed, err)
		}
		if freed, err := rw.Read().ForceUnlock(me); !freed || err != nil {
			t.Fatal(freed, err)
		}
		if !ended(reading.Lost()) || !ended(second.Lost()) {
			t.Fatal("the readers have not heard of it")
		}
		wants(t, reading.Release(me), reentrant.ErrLost)
		wants(t, second.Release(you), reentrant.ErrLost)

		must(t, rw.Lock(me))
		reading, err = rw.Read().Acquire(me)
		must(t, err)
		if freed, err := rw.Read().ForceUnlock(me); freed || err != nil || ended(reading.Lost()) {
			t.Fatal(freed, err)
		}
		if freed, err := rw.Write().ForceUnlock(me); !freed || err != nil || ended(reading.Lost()) {
			t.Fatal(freed, err)
		}
		wants(t, rw.Unlock(me), reentrant.ErrLost)
		must(t, reading.Release(me))
	})
}

// Redis has forgotten the reads, and grants a write: this Client's readers hear of it then.
func TestTimeGrantDisprovesReads(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		var lost []string
		rw := v.client(reentrant.WithLease(time.Hour), reentrant.WithEvents(reentrant.Events{
			Lost: func(e reentrant.Event) { lost = append(lost, e.Kind) },
		})).NewReadWriteLock("rw")
		reading, err := rw.Read().Acquire(owner(v.ctx, "me"))
		must(t, err)
		v.mini.FlushAll()
		must(t, rw.Lock(owner(v.ctx, "w")))
		synctest.Wait()
		if !ended(reading.Lost()) || len(lost) != 1 || lost[0] != "read" {
			t.Fatalf("%v", lost)
		}
		wants(t, reading.Release(v.ctx), reentrant.ErrLost)
		must(t, rw.Unlock(owner(v.ctx, "w")))
	})
}

// Events name the side, and Info tells who reads, who writes and who waits.
func TestTimeReadWriteEventsAndInfo(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		kinds := make(map[string]int)
		count := func(e reentrant.Event) { kinds[e.Kind]++ }
		c := v.client(reentrant.WithEvents(reentrant.Events{Acquired: count, Released: count}))
		rw := c.NewReadWriteLock("rw")
		must(t, rw.RLock(owner(v.ctx, "a")))
		must(t, rw.RLock(owner(v.ctx, "b")))
		writer := begin(func() error { return v.client().NewReadWriteLock("rw").Lock(v.ctx) })
		v.pass(time.Second)
		info, err := rw.Read().Info(v.ctx)
		must(t, err)
		if info.Mode != "read" || !info.Holder.Reads || info.Holder.Owner != "a" || len(info.Others) != 1 || info.Others[0].Owner != "b" ||
			len(info.Waiters) != 1 || info.Waiters[0].Reads {
			t.Fatalf("%+v", info)
		}
		must(t, rw.RUnlock(owner(v.ctx, "a")))
		must(t, rw.RUnlock(owner(v.ctx, "b")))
		must(t, writer.wait())
		if info, err = rw.Write().Info(v.ctx); err != nil || info.Mode != "write" || info.Holder.Reads || info.Holder.Thread == 0 {
			t.Fatalf("%+v, %v", info, err)
		}
		if want := map[string]int{"read": 4}; !maps.Equal(kinds, want) {
			t.Fatalf("%v", kinds)
		}
		if reads, err := rw.Read().IsLocked(v.ctx); reads || err != nil {
			t.Fatal(reads, err)
		}
		if writes, err := rw.Write().IsLocked(v.ctx); !writes || err != nil {
			t.Fatal(writes, err)
		}
	})
}

// A name is of one kind of lock.
func TestTimeReadWriteForeign(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		plain, rw := c.NewLock("x"), c.NewReadWriteLock("x")
		must(t, plain.Lock(v.ctx))
		wants(t, rw.RLock(v.ctx), reentrant.ErrForeignKey)
		wants(t, rw.Lock(v.ctx), reentrant.ErrForeignKey)
		must(t, plain.Unlock(v.ctx))
		must(t, rw.RLock(v.ctx))
		wants(t, plain.Lock(v.ctx), reentrant.ErrForeignKey)
		must(t, rw.RUnlock(v.ctx))
	})
}

// Only a write has a fencing token.
func TestTimeReadWriteTokens(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		rw := v.client().NewReadWriteLock("rw", reentrant.WithFencing())
		var last int64
		for range 3 {
			writing, err := rw.Write().Acquire(v.ctx)
			must(t, err)
			if writing.Token() <= last {
				t.Fatalf("token %d after %d", writing.Token(), last)
			}
			last = writing.Token()
			must(t, writing.Release(v.ctx))
			reading, err := rw.Read().Acquire(v.ctx)
			must(t, err)
			if reading.Token() != 0 {
				t.Fatal("a reader has a token")
			}
			must(t, reading.Release(v.ctx))
		}
	})
}

// ReleaseAfter leaves the write to nobody; a read that the owner has beside it is in the way.
func TestTimeReadWriteReleaseAfter(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		rw := v.client().NewReadWriteLock("rw")
		me := owner(v.ctx, "me")
		writing, err := rw.Write().Acquire(me)
		must(t, err)
		must(t, rw.RLock(me))
		wants(t, writing.ReleaseAfter(me, time.Minute), reentrant.ErrNested)
		must(t, rw.RUnlock(me))
		released := time.Now()
		must(t, writing.ReleaseAfter(me, time.Minute))
		must(t, rw.RLock(me))
		if took := time.Since(released); took < time.Minute || took > time.Minute+time.Second {
			t.Fatalf("the reader came after %v", took)
		}
		reading, err := rw.Read().Acquire(owner(v.ctx, "other"))
		must(t, err)
		must(t, rw.RUnlock(me))
		released = time.Now()
		must(t, reading.ReleaseAfter(v.ctx, time.Minute))
		must(t, locktest.Tried(rw.TryRLock(me, 0, 0))) // beside nobody
		must(t, rw.RUnlock(me))
		must(t, rw.Lock(me))
		if took := time.Since(released); took < time.Minute || took > time.Minute+time.Second {
			t.Fatalf("the writer came after %v", took)
		}
	})
}
