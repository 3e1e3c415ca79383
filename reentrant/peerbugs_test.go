package reentrant_test

// The ledger: one test for each mistake that lock libraries are known to have made.
// The comment of a test says which mistake it would catch.
//
// Mistakes that cannot be made here, or not yet, and so have no test of their own:
//
//   - A struct with a mutex or a map in it is copied, and the copy locks something
//     else. A Lock has no state, so a copy is as good; see TestLedger_14.
//   - A renewal test that moves a fake clock of the library's own and not Redis'. There
//     is no such clock: Redis and the library share the bubble's. TestLedger_03 checks
//     that the apparatus would notice.
//   - A fair lock that orders by whole seconds. There is no fair lock yet; TestLedger_20
//     has the order of the waiters that there are.
//   - A documented retry interval that the code does not have. The interval is not
//     documented; TestLedger_25 has its bounds.
//   - A read lock whose renewal entry survives a re-entrant unlock. There is no read
//     lock yet; TestLedger_28 has the same for the lock there is.
//   - A method with a comment and no body. TestLedger_18 calls every one.
//
// Of the behaviours that Redisson's own tests assert, these are elsewhere: a wait to
// its limit (virtualtime_wait_test.go), a process that dies (virtualtime_orphan_test.go), a Redis
// that forgets (virtualtime_override_test.go), a cluster (internal/faulttests). Its listeners on
// keyspace notifications are not offered.

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// The renewal goes to another key than the lock's, for instance without its prefix.
func TestLedger_01_RenewalOfTheLocksOwnKey(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		const lease = 900 * time.Millisecond
		l := v.client(reentrant.WithPrefix("shop:"), reentrant.WithLease(lease)).NewLock("order:{42}")
		must(t, l.Lock(v.ctx))
		v.pass(1200 * time.Millisecond)
		if left := v.ttl("shop:order:{42}"); left < lease/2 {
			t.Fatalf("%v left of %v after 1.2 s", left, lease)
		}
		must(t, l.Unlock(v.ctx))
	})
}

// Unlock deletes the key whoever holds it.
func TestLedger_02_UnlockOfSomebodyElsesLock(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		l := c.NewLock("job")
		must(t, l.Lock(v.ctx))
		held := v.fields("job")
		for _, other := range []*reentrant.Client{c, v.client()} {
			elsewhere(func() {
				if err := other.NewLock("job").Unlock(v.ctx); !errors.Is(err, reentrant.ErrNotHeld) {
					t.Errorf("Unlock by another: %v", err)
				}
			})
		}
		if now := v.fields("job"); len(now) != 1 || now[c.ID()+":"+ownerIn(held)] != "1" {
			t.Fatalf("%v, was %v", now, held)
		}
		must(t, l.Unlock(v.ctx))

		// Nor after its own lease, when the lock is another's.
		must(t, l.LockLease(v.ctx, lease))
		v.pass(lease)
		next := v.client().NewLock("job")
		must(t, next.Lock(v.ctx))
		if err := l.Unlock(v.ctx); !errors.Is(err, reentrant.ErrLost) {
			t.Fatalf("Unlock of a lock that another has by now: %v", err)
		}
		must(t, next.Unlock(v.ctx))
	})
}

// ownerIn is the second half of the only field.
func ownerIn(fields map[string]string) string {
	for field := range fields {
		return field[len("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx:"):]
	}
	return ""
}

// A test of renewal in which nothing would expire without it.
func TestLedger_03_WithoutRenewalTheKeyIsGone(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		must(t, c.NewLock("renewed").Lock(v.ctx))
		must(t, c.NewLock("fixed").LockLease(v.ctx, lease))
		v.pass(3 * lease)
		if v.mini.Exists("fixed") || !v.mini.Exists("renewed") {
			t.Fatalf("keys %q", v.mini.Keys())
		}
	})
}

// Half the lease of an inner hold is written in nanoseconds where Redis takes
// milliseconds, and the lock stays for centuries.
func TestLedger_07_InnerUnlockKeepsTheTTL(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client().NewLock("job")
		must(t, l.Lock(v.ctx))
		must(t, l.Lock(v.ctx))
		v.pass(100 * time.Millisecond)
		before := v.ttl("job")
		must(t, l.Unlock(v.ctx))
		if after := v.ttl("job"); after != before {
			t.Fatalf("TTL %v after the inner Unlock, %v before", after, before)
		}
		must(t, l.Unlock(v.ctx))
	})
}

// The renewal asks whether the key exists and not whose it is, and so keeps a dead
// process' lock alive.
func TestLedger_08_RenewalOfSomebodyElsesLock(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		h, err := c.NewLock("job").Acquire(v.ctx)
		must(t, err)
		v.mini.Del("job")
		v.mini.HSet("job", "somebody:1", "1")
		v.mini.SetTTL("job", lease)
		taken := time.Now()
		v.pass(lease / 3)
		if left := v.ttl("job"); left != lease-lease/3 && left != lease-time.Since(taken) {
			t.Fatalf("%v are left, want what is left of %v", left, lease)
		}
		if !ended(h.Lost()) {
			t.Fatal("the lock is another's and its holder does not know")
		}
		v.pass(lease)
		if v.mini.Exists("job") {
			t.Fatal("the other's lock was kept alive")
		}
	})
}

// A lease below some default is silently replaced by it.
func TestLedger_14_LeasesAreTakenAsTheyAre(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		for _, d := range []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, time.Second, time.Hour} {
			must(t, v.client(reentrant.WithLease(time.Minute)).NewLock("fixed").LockLease(v.ctx, d))
			if left := v.ttl("fixed"); left != d {
				t.Fatalf("lease %v, TTL %v", d, left)
			}
			v.pass(d)
		}
		l := v.client(reentrant.WithLease(300 * time.Millisecond)).NewLock("job")
		must(t, l.Lock(v.ctx))
		if left := v.ttl("job"); left != 300*time.Millisecond {
			t.Fatalf("TTL %v", left)
		}
		handle := *l // copied, and the same lock
		must(t, handle.Lock(v.ctx))
		if n, err := l.HoldCount(v.ctx); n != 2 || err != nil {
			t.Fatalf("hold count %d, %v", n, err)
		}
	})
	for _, d := range []time.Duration{0, -1, time.Millisecond - 1} {
		_, rdb := redistest.Mini(t)
		if _, err := reentrant.New(rdb, reentrant.WithLease(d)); !errors.Is(err, reentrant.ErrInvalidLease) {
			t.Errorf("WithLease(%v): %v", d, err)
		}
		if err := newClient(t, rdb).NewLock("job").LockLease(context.Background(), d); !errors.Is(err, reentrant.ErrInvalidLease) {
			t.Errorf("LockLease(%v): %v", d, err)
		}
	}
}
