//go:build interop

package redisson_test

import (
	"context"
	"regexp"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// A Go process that waits, is woken and then does nothing, since it was stopped, must
// not cost Redisson's waiter the rest of a TTL that it saw a minute ago.
func testStoppedGoWaiter(t *testing.T, r *rig) {
	const name, id = "stopped", "00000000-0000-0000-0000-000000000000"
	// What is to be seen of such a process: its subscriptions and its place.
	sub := r.server.Client(t).Subscribe(context.Background(),
		channel(name)+":"+id, "redlatch_listeners:{"+name+"}", channel(name))
	t.Cleanup(func() { sub.Close() })
	for range 3 {
		_, err := sub.Receive(context.Background())
		must(t, err)
	}
	lock := r.client(t).NewLock(name)
	must(t, lock.LockLease(t.Context(), longLease))
	r.server.Do(t, "ZADD", "redlatch_waiters:{"+name+"}", 1, id)
	r.server.Do(t, "PEXPIRE", "redlatch_waiters:{"+name+"}", longLease.Milliseconds())

	r.java.want(t, false, "tryLock", name, 7, 0, -1) // so that the server knows the script
	before := r.scripts(t)
	granted := r.java.begin(t, "lock", name, 7, longLease.Milliseconds())
	redistest.Eventually(t, 10*time.Second, "Redisson to try once more after it has subscribed", func() bool {
		return r.scripts(t) >= before+2
	})
	began := time.Now()
	must(t, lock.Unlock(t.Context()))
	a := await(t, granted, 2*wokenWithin)
	must(t, a.err)
	t.Logf("Redisson has the lock %v after the release", a.at.Sub(began))
	r.java.do(t, "unlock", name, 7)
}

// scripts counts the scripts that the server has run.
func (r *rig) scripts(t testing.TB) int64 {
	t.Helper()
	calls := regexp.MustCompile(`cmdstat_evalsha:calls=(\d+)`).FindStringSubmatch(r.server.Do(t, "INFO", "commandstats").(string))
	if calls == nil {
		return 0
	}
	return number(t, calls[1])
}
