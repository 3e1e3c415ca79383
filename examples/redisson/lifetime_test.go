//go:build interop

package redisson_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// sample reads a TTL for so long, and returns the least and the greatest.
func sample(t testing.TB, during time.Duration, read func() time.Duration) (least, most time.Duration) {
	t.Helper()
	least = time.Hour
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(during); time.Now().Before(end); <-tick.C {
		ttl := read()
		least, most = min(least, ttl), max(most, ttl)
	}
	return least, most
}

// Each side sees the TTL that the other's watchdog keeps up, beyond two leases.
func testWatchdogs(t *testing.T, r *rig) {
	lock := r.client(t, reentrant.WithLease(briskLease)).NewLock("watched")

	must(t, lock.Lock(t.Context()))
	least, most := sample(t, 2*briskLease+briskLease/2, func() time.Duration { return r.java.millis(t, "ttl", "watched") })
	t.Logf("Redisson sees of Go's lease of %v: %v to %v", briskLease, least, most)
	wantRenewed(t, least, most)
	r.brisk.want(t, false, "tryLock", "watched", 7, 0, -1)
	must(t, lock.Unlock(t.Context()))

	r.brisk.do(t, "lock", "watched", 7)
	least, most = sample(t, 2*briskLease+briskLease/2, func() time.Duration {
		ttl, err := lock.TTL(t.Context())
		must(t, err)
		return ttl
	})
	t.Logf("Go sees of Redisson's lease of %v: %v to %v", briskLease, least, most)
	wantRenewed(t, least, most)
	r.brisk.do(t, "unlock", "watched", 7)
	r.java.want(t, -2, "ttl", "watched")
	if ttl, err := lock.TTL(t.Context()); ttl != 0 || err != nil {
		t.Errorf("TTL of a free lock: %v, %v", ttl, err)
	}
}

// wantRenewed: renewed each third of the lease, the TTL stays above half of it but
// for a slow machine, and never above the lease.
func wantRenewed(t testing.TB, least, most time.Duration) {
	t.Helper()
	if least <= 0 || most > briskLease || most < briskLease/2 {
		t.Errorf("TTL from %v to %v, want above 0 and up to %v", least, most, briskLease)
	}
}

// Without options both renew to the same 30 s.
func testDefaultLeases(t *testing.T, r *rig) {
	lock := r.client(t).NewLock("defaults")
	must(t, lock.Lock(t.Context()))
	if ttl := r.java.millis(t, "ttl", "defaults"); ttl < 25*time.Second || ttl > 30*time.Second {
		t.Errorf("Redisson sees a TTL of %v", ttl)
	}
	must(t, lock.Unlock(t.Context()))
	r.java.do(t, "lock", "defaults", 7)
	if ttl, err := lock.TTL(t.Context()); err != nil || ttl < 25*time.Second || ttl > 30*time.Second {
		t.Errorf("Go sees a TTL of %v, %v", ttl, err)
	}
	r.java.do(t, "unlock", "defaults", 7)
}

// A lease that runs out frees the lock for the other side, and the late unlock
// frees nothing.
func testLeaseExpiry(t *testing.T, r *rig) {
	const lease = 400 * time.Millisecond
	c := r.client(t)
	lock := c.NewLock("expiry")

	r.java.do(t, "lock", "expiry", 7, lease.Milliseconds())
	began := time.Now()
	must(t, lock.Lock(t.Context()))
	t.Logf("Go has the lock %v after Redisson took it for %v", time.Since(began), lease)
	wantTook(t, "the wait for Redisson's lease", time.Since(began), lease)
	r.java.wantNotOwner(t, "unlock", "expiry", 7)
	if held, err := lock.IsHeld(t.Context()); !held || err != nil {
		t.Errorf("after Redisson's late unlock Go holds the lock: %v, %v", held, err)
	}
	must(t, lock.Unlock(t.Context()))

	for i, how := range waits {
		must(t, lock.LockLease(t.Context(), lease))
		began = time.Now()
		a := await(t, r.java.begin(t, how, "expiry", 7+i), lease+2*time.Second)
		must(t, a.err)
		t.Logf("Redisson's %s has the lock %v after Go took it for %v", how, a.at.Sub(began), lease)
		wantTook(t, "the wait for Go's lease", a.at.Sub(began), lease)
		if err := lock.Unlock(t.Context()); !errors.Is(err, reentrant.ErrLost) {
			t.Errorf("Go's late unlock: %v", err)
		}
		r.java.want(t, true, "held", "expiry", 7+i)
		r.java.do(t, "unlock", "expiry", 7+i)
	}
}

// A process that dies with the lock frees it for the other side within its lease.
func TestCrash(t *testing.T) {
	r := newRig(t)
	r.brisk.do(t, "lock", "crash", 7)
	r.brisk.kill()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 2*briskLease)
	defer cancel()
	lock := r.client(t).NewLock("crash")
	must(t, lock.Lock(ctx))
	t.Logf("Go has the lock %v after the JVM died with a lease of %v", time.Since(began), briskLease)
	must(t, lock.Unlock(ctx))

	// A Go process that has lost its connections is as good as dead.
	rdb := r.server.Client(t)
	dying, err := reentrant.New(rdb, reentrant.WithLease(briskLease))
	must(t, err)
	must(t, dying.NewLock("crash").Lock(ctx))
	must(t, rdb.Close())
	began = time.Now()
	a := await(t, r.java.begin(t, "lock", "crash", 7), 2*briskLease)
	must(t, a.err)
	t.Logf("Redisson has the lock %v after Go died with a lease of %v", a.at.Sub(began), briskLease)
	r.java.do(t, "unlock", "crash", 7)
	ended, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	dying.Close(ended)
}
