package reentrant_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// readWriteScene is a read-write lock in two Clients, and owners for it.
type readWriteScene struct {
	*virtual
	t    *testing.T
	a, b *reentrant.ReadWriteLock
}

func (s *readWriteScene) as(who string) context.Context { return owner(s.ctx, who) }

// says checks a question's answer.
func says[T comparable](t *testing.T, what string, want T) func(T, error) {
	return func(got T, err error) {
		t.Helper()
		if got != want || err != nil {
			t.Errorf("%s: %v, %v, want %v", what, got, err, want)
		}
	}
}

// What Redisson's RedissonReadWriteLockTest tries, with Go alone. docs/tested.md names the other tests that do.
func TestTimeReadWriteScenarios(t *testing.T) {
	for name, play := range map[string]func(*readWriteScene){
		"ReadLockExpirationRenewal":  fiftyReadersLiveOn,
		"ReadLockExpiration":         shorterReadEndsFirst,
		"LeaseTimeout, WRR, RRW":     secondReadDoesNotProlong,
		"WriteLockExpiration":        writeEndsWithItsLease,
		"WriteRead":                  readersComeAfterTheWrite,
		"WriteReadReentrancy":        readsWithinAWrite,
		"MultiRead":                  readsNest,
		"ReadWriteTTL":               ttlStaysUp,
		"ExpireRead, ExpireWrite":    expiredHoldsAreLost,
		"AutoExpire":                 closedClientsLocksExpire,
		"HoldCount, IsHeld,IsLocked": questions,
		"UnlockFail":                 unlockOfAnother,
		"ZombieCleanup":              deadReadersAreForgotten,
		"Name":                       hashTags,
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				s := &readWriteScene{virtual: v, t: t}
				s.a, s.b = v.client().NewReadWriteLock("rw"), v.client().NewReadWriteLock("rw")
				play(s)
				synctest.Wait()
				if v.mini.Exists("rw") {
					t.Errorf("left: %v", v.fields("rw"))
				}
			})
		})
	}
}

func fiftyReadersLiveOn(s *readWriteScene) {
	for i := range 50 {
		must(s.t, s.a.RLock(s.as(fmt.Sprint(i))))
	}
	s.pass(5 * lease)
	for i := range 50 {
		says(s.t, "a reader", true)(s.a.Read().IsHeld(s.as(fmt.Sprint(i))))
		must(s.t, s.a.RUnlock(s.as(fmt.Sprint(i))))
	}
}

func shorterReadEndsFirst(s *readWriteScene) {
	began := time.Now()
	must(s.t, s.a.Read().LockLease(s.as("long"), 10*time.Second))
	must(s.t, s.b.Read().LockLease(s.as("short"), 3*time.Second))
	s.pass(4 * time.Second)
	wants(s.t, s.b.RUnlock(s.as("short")), reentrant.ErrLost)
	must(s.t, s.b.Lock(s.as("w")))
	if took := time.Since(began); took < 8*time.Second || took > 10200*time.Millisecond {
		s.t.Errorf("the writer came after %v", took)
	}
	must(s.t, s.b.Unlock(s.as("w")))
}

func secondReadDoesNotProlong(s *readWriteScene) {
	must(s.t, s.a.Write().LockLease(s.as("w"), time.Second))
	s.pass(1100 * time.Millisecond)
	must(s.t, s.a.Read().LockLease(s.as("r1"), time.Second))
	s.pass(500 * time.Millisecond)
	must(s.t, s.b.Read().LockLease(s.as("r2"), time.Second))
	s.pass(700 * time.Millisecond) // 1.2 s after r1's grant
	says(s.t, "r1", false)(s.a.Read().IsHeld(s.as("r1")))
	says(s.t, "r2", true)(s.b.Read().IsHeld(s.as("r2")))
	began := time.Now()
	must(s.t, s.a.Lock(s.as("w")))
	if took := time.Since(began); took > 350*time.Millisecond {
		s.t.Errorf("the writer waited %v for r2's last 300 ms", took)
	}
	must(s.t, s.a.Unlock(s.as("w")))
}

func writeEndsWithItsLease(s *readWriteScene) {
	must(s.t, s.a.Write().LockLease(s.as("w"), 2*time.Second))
	began := time.Now()
	must(s.t, s.b.RLock(s.as("r")))
	if took := time.Since(began); took < 1900*time.Millisecond || took > 2100*time.Millisecond {
		s.t.Errorf("the reader came after %v", took)
	}
	must(s.t, s.b.RUnlock(s.as("r")))
	wants(s.t, s.a.Unlock(s.as("w")), reentrant.ErrLost)
}

func readersComeAfterTheWrite(s *readWriteScene) {
	must(s.t, s.a.Lock(s.as("w")))
	var readers []*pending
	for i := range 20 {
		readers = append(readers, begin(func() error { return s.b.RLock(s.as(fmt.Sprint(i))) }))
	}
	s.pass(time.Second)
	must(s.t, s.a.Unlock(s.as("w")))
	released := time.Now()
	for i, r := range readers {
		must(s.t, r.wait())
		if late := r.at.Sub(released); late > time.Second {
			s.t.Errorf("reader %d came %v after the write", i, late)
		}
		must(s.t, s.b.RUnlock(s.as(fmt.Sprint(i))))
	}
}

func readsWithinAWrite(s *readWriteScene) {
	w := s.as("w")
	must(s.t, s.a.Lock(w))
	must(s.t, s.a.RLock(w))
	says(s.t, "another reader", false)(s.b.TryRLock(s.as("r"), 0, 0))
	must(s.t, s.a.Unlock(w))
	says(s.t, "another reader", true)(s.b.TryRLock(s.as("r"), 0, 0))
	says(s.t, "another writer", false)(s.b.TryLock(s.as("w2"), 0, 0))
	must(s.t, s.a.RUnlock(w))
	must(s.t, s.b.RUnlock(s.as("r")))
}

func readsNest(s *readWriteScene) {
	for range 3 {
		must(s.t, s.a.RLock(s.as("r")))
	}
	must(s.t, s.b.RLock(s.as("other")))
	for range 3 {
		says(s.t, "a writer", false)(s.b.TryLock(s.as("w"), 0, 0))
		must(s.t, s.a.RUnlock(s.as("r")))
	}
	must(s.t, s.b.RUnlock(s.as("other")))
	wants(s.t, s.a.RUnlock(s.as("r")), reentrant.ErrNotHeld)
}

// The TTL never falls below two thirds of the lease, while the lock is written, read, and written down to a read.
func ttlStaysUp(s *readWriteScene) {
	w := s.as("w")
	least := func(what string) {
		for range 50 {
			s.pass(lease / 30)
			if left := s.mini.TTL("rw"); left < lease*2/3-time.Second {
				s.t.Fatalf("%s: %v left", what, left)
			}
		}
	}
	must(s.t, s.a.Lock(w))
	least("written")
	must(s.t, s.a.RLock(w))
	least("written and read")
	must(s.t, s.a.Unlock(w))
	least("read")
	must(s.t, s.a.RUnlock(w))
}

func expiredHoldsAreLost(s *readWriteScene) {
	for _, side := range []*reentrant.Lock{s.a.Read(), s.a.Write()} {
		must(s.t, side.LockLease(s.as("me"), 2*time.Second))
		s.pass(2100 * time.Millisecond)
		says(s.t, "locked", false)(side.IsLocked(s.ctx))
		wants(s.t, side.Unlock(s.as("me")), reentrant.ErrLost)
	}
}

// A Client that ends with its locks taken leaves them to their leases.
func closedClientsLocksExpire(s *readWriteScene) {
	for _, side := range []string{"read", "write"} {
		c := s.client()
		l := c.NewReadWriteLock("rw").Read()
		if side == "write" {
			l = c.NewReadWriteLock("rw").Write()
		}
		must(s.t, l.Lock(s.as("gone")))
		ended, end := context.WithCancel(s.ctx)
		end()
		if err := c.Close(ended); err == nil {
			s.t.Error("closed with a lock taken, without a word")
		}
		began := time.Now()
		must(s.t, s.b.Lock(s.as("next")))
		if took := time.Since(began); took > lease+time.Second {
			s.t.Errorf("after a %s: %v", side, took)
		}
		must(s.t, s.b.Unlock(s.as("next")))
	}
}

func questions(s *readWriteScene) {
	me, you := s.as("me"), s.as("you")
	for i, side := range []*reentrant.Lock{s.a.Read(), s.a.Write()} {
		there := []*reentrant.Lock{s.b.Read(), s.b.Write()}[i]
		says(s.t, "free: locked", false)(there.IsLocked(you))
		says(s.t, "free: count", 0)(side.HoldCount(me))
		must(s.t, side.Lock(me))
		must(s.t, side.Lock(me))
		says(s.t, "locked", true)(there.IsLocked(you))
		says(s.t, "count", 2)(side.HoldCount(me))
		says(s.t, "mine", true)(side.IsHeld(me))
		says(s.t, "yours", false)(there.IsHeld(you))
		must(s.t, side.Unlock(me))
		says(s.t, "count after one", 1)(side.HoldCount(me))
		must(s.t, side.Unlock(me))
		says(s.t, "mine no more", false)(side.IsHeld(me))
	}
}

func unlockOfAnother(s *readWriteScene) {
	for i, side := range []*reentrant.Lock{s.a.Read(), s.a.Write()} {
		must(s.t, side.Lock(s.as("me")))
		wants(s.t, []*reentrant.Lock{s.b.Read(), s.b.Write()}[i].Unlock(s.as("you")), reentrant.ErrNotHeld)
		says(s.t, "mine", true)(side.IsHeld(s.as("me")))
		must(s.t, side.Unlock(s.as("me")))
	}
}

// A reader whose marker is gone does not keep a writer out, though its field is there still.
func deadReadersAreForgotten(s *readWriteScene) {
	must(s.t, s.a.RLock(s.as("alive")))
	const zombie = "6e5cd5a0-1111-4222-8333-123456789abc:17"
	s.mini.HSet("rw", zombie, "1")
	writer := begin(func() error { return s.b.Lock(s.as("w")) })
	s.pass(time.Second)
	must(s.t, s.a.RUnlock(s.as("alive")))
	released := time.Now()
	must(s.t, writer.wait())
	if late := writer.at.Sub(released); late > 5*time.Second {
		s.t.Errorf("the writer came after %v", late)
	}
	must(s.t, s.b.Unlock(s.as("w")))
}

func hashTags(s *readWriteScene) {
	rw := s.client().NewReadWriteLock("{test}:abc:key")
	must(s.t, rw.RLock(s.as("r")))
	must(s.t, rw.RUnlock(s.as("r")))
	must(s.t, rw.Lock(s.as("w")))
	for _, key := range s.mini.Keys() {
		if key != "{test}:abc:key" {
			s.t.Errorf("left: %s", key)
		}
	}
	must(s.t, rw.Unlock(s.as("w")))
}
