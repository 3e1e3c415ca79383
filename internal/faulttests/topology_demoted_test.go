package faulttests

import (
	"context"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Row 23: the address of the master leads to one that has been demoted. Its READONLY is no
// answer to who holds the lock; who holds and who waits try again until the address leads
// to the new master.
func TestFault23DemotedMaster(t *testing.T) {
	t.Parallel()
	const lease = 20 * time.Second
	old := redistest.Start(t)
	heir := redistest.Start(t, redistest.WithReplicaOf(old))
	var master atomic.Pointer[redistest.Server] // as a name has it that clients look up
	master.Store(old)
	client := func() *reentrant.Client {
		return locktest.NewClient(t, old.Client(t, func(o *redis.Options) {
			o.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, master.Load().Addr())
			}
		}), reentrant.WithLease(lease))
	}
	holder, waiter := client(), client()
	l := holder.NewLock("l")
	hold, err := l.Acquire(asHolder(t))
	must(t, err)
	next := locktest.CallFor(t, waiter, waiter.NewLock("l"), "waiter")
	redistest.Eventually(t, 10*time.Second, "the replica has the lock and the waiter", func() bool {
		return len(locktest.Held(t, heir, "l")) == 1 && heir.Do(t, "ZCARD", "redlatch_waiters:{l}") == int64(1)
	})

	heir.Do(t, "REPLICAOF", "NO", "ONE")
	host, port, err := net.SplitHostPort(heir.Addr())
	must(t, err)
	old.Do(t, "REPLICAOF", host, port)
	old.Do(t, "CONFIG", "RESETSTAT")
	began := time.Now()
	err = holder.NewLock("other").Lock(asHolder(t))
	wants(t, err, reentrant.ErrNotAcquired)
	if !strings.Contains(err.Error(), "READONLY") {
		t.Errorf("does not say why: %v", err)
	}
	release, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	wants(t, hold.Release(reentrant.WithOwner(release, "holder")), reentrant.ErrUnconfirmed)
	// The release goes on in the background, and the waiter by its poll, for a while.
	redistest.Eventually(t, 30*time.Second, "refusals", func() bool { return evals(t, old) >= 20 })
	if n, took := evals(t, old), time.Since(began); float64(n) > 50+2*50*took.Seconds() {
		t.Errorf("%d requests of two clients in %v", n, took)
	} else {
		t.Logf("%d requests of two clients in %v", n, took)
	}
	if at := locktest.Held(t, heir, "l"); len(at) != 1 || at[hold.Owner()] != "1" {
		t.Errorf("at the new master: %v, want %s", at, hold.Owner())
	}

	master.Store(heir)
	got := next.Hold(t, lease)
	if left := heir.Do(t, "PTTL", "l").(int64); left < (lease - 2*time.Second).Milliseconds() {
		t.Errorf("granted with %d ms left", left)
	}
	must(t, got.Release(next.Ctx))
	must(t, l.Lock(asHolder(t)))
	must(t, l.Unlock(asHolder(t)))
	locktest.TidyWithin(t, heir, 20*time.Second, "l", "other")
}

// evals counts the scripts that the server was sent.
func evals(t *testing.T, s *redistest.Server) int {
	t.Helper()
	return calls(t, s, "eval") + calls(t, s, "evalsha")
}

// calls counts how often a command was sent to the server, with success or without.
func calls(t *testing.T, s *redistest.Server, command string) (n int) {
	t.Helper()
	for field := range strings.SplitSeq(s.Info(t, "commandstats", "cmdstat_"+command), ",") {
		// Those that failed are among the calls.
		if name, value, _ := strings.Cut(field, "="); name == "calls" || name == "rejected_calls" {
			count, err := strconv.Atoi(value)
			must(t, err)
			n += count
		}
	}
	return n
}
