//go:build interop

package redisson_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/reentrant"
)

// wakes is how often each way of waking is measured.
const wakes = 10

// waits are Redisson's two ways to wait: by a callback, and with a thread.
var waits = []string{"lock", "block"}

// The payloads by themselves: a lock that nobody releases, but somebody deletes, and
// a message. It must wake Redisson a minute before the TTL would.
func testPayloads(t *testing.T, r *rig) {
	for _, payload := range []string{"0", "-0"} {
		for _, how := range waits {
			name := "payload:" + payload + ":" + how
			r.server.Do(t, "HSET", name, "somebody", 1)
			r.server.Do(t, "PEXPIRE", name, longLease.Milliseconds())
			granted := r.java.begin(t, how, name, 7, longLease.Milliseconds())
			r.waitUntilJavaWaits(t, name, 1)
			r.server.Do(t, "DEL", name)
			sent := time.Now()
			heard := r.server.Do(t, "PUBLISH", channel(name), payload)
			a := await(t, granted, wokenWithin)
			must(t, a.err)
			t.Logf("payload %q, %s: %v received it, held after %v", payload, how, heard, a.at.Sub(sent))
			r.java.do(t, "unlock", name, 7)
		}
	}
}

func testGoWakesJava(t *testing.T, r *rig) {
	for _, how := range waits {
		base := "go-wakes-java:" + how
		told := r.listen(t, base+":*")
		c := r.client(t)
		var took []time.Duration
		for i := range wakes {
			name := fmt.Sprintf("%s:%d", base, i) // no message of an earlier round can help
			lock := c.NewLock(name)
			must(t, lock.LockLease(t.Context(), longLease))
			granted := r.java.begin(t, how, name, 7, longLease.Milliseconds())
			r.waitUntilJavaWaits(t, name, 1)
			began := time.Now()
			must(t, lock.Unlock(t.Context()))
			a := await(t, granted, wokenWithin)
			must(t, a.err)
			took = append(took, a.at.Sub(began))
			wantMessage(t, told, name, "-0")
			r.java.do(t, "unlock", name, 7)
			wantMessage(t, told, name, "0")
		}
		t.Logf("Go's Unlock to Redisson's %s: %s", how, spread(took))
	}
}

func testJavaWakesGo(t *testing.T, r *rig) {
	base := "java-wakes-go"
	told := r.listen(t, base+":*")
	ctx := reentrant.WithOwner(t.Context(), "waiter") // whichever goroutine calls
	var took []time.Duration
	for i := range wakes {
		name := fmt.Sprintf("%s:%d", base, i)
		c := r.client(t)
		lock := c.NewLock(name)
		r.java.do(t, "lock", name, 7, longLease.Milliseconds())
		granted := begin(func() error { return lock.LockLease(ctx, longLease) })
		r.waitUntilGoWaits(t, name, c)
		began := time.Now()
		r.java.do(t, "unlock", name, 7)
		a := await(t, granted, wokenWithin)
		must(t, a.err)
		took = append(took, a.at.Sub(began))
		wantMessage(t, told, name, "0")
		if w := c.Stats().WakeUps; w.Message != 1 || w.TTL != 0 || w.Poll != 0 {
			t.Errorf("the waiter tried again because of %+v", w)
		}
		must(t, lock.Unlock(ctx))
		wantMessage(t, told, name, "-0")
	}
	t.Logf("Redisson's unlock to Go's Lock: %s", spread(took))
}

func wantMessage(t testing.TB, told <-chan *redis.Message, name, payload string) {
	t.Helper()
	if m := await(t, told, 5*time.Second); m.Channel != channel(name) || m.Payload != payload {
		t.Errorf("published %q on %s, want %q on %s", m.Payload, m.Channel, payload, channel(name))
	}
}

func spread(took []time.Duration) string {
	slices.Sort(took)
	return fmt.Sprintf("median %v, longest %v of %d", took[len(took)/2].Round(10*time.Microsecond),
		took[len(took)-1].Round(10*time.Microsecond), len(took))
}

// A limit on the wait holds on both sides while the other has the lock.
func testTimedWaits(t *testing.T, r *rig) {
	const limit = 300 * time.Millisecond
	lock := r.client(t).NewLock("timed")

	must(t, lock.Lock(t.Context()))
	began := time.Now()
	r.java.want(t, false, "tryLock", "timed", 7, limit.Milliseconds(), -1)
	wantTook(t, "Redisson's tryLock", time.Since(began), limit)
	r.java.want(t, false, "tryLock", "timed", 7, 0, -1)
	must(t, lock.Unlock(t.Context()))

	r.java.want(t, true, "tryLock", "timed", 7, 0, longLease.Milliseconds())
	began = time.Now()
	if ok, err := lock.TryLock(t.Context(), limit, 0); ok || err != nil {
		t.Errorf("TryLock: %v, %v", ok, err)
	}
	wantTook(t, "TryLock", time.Since(began), limit)
	if ok, err := lock.TryLock(t.Context(), 0, 0); ok || err != nil {
		t.Errorf("TryLock without a wait: %v, %v", ok, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := lock.Lock(ctx); err == nil {
		t.Error("Lock took what Redisson holds")
	}
	r.java.do(t, "unlock", "timed", 7)
}

func wantTook(t testing.TB, what string, took, limit time.Duration) {
	t.Helper()
	if took < limit-20*time.Millisecond || took > limit+wokenWithin {
		t.Errorf("%s took %v, its limit was %v", what, took, limit)
	}
}
