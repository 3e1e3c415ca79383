package faulttests

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// tryQuickly makes a call with wait 0 that must fail in time, and returns its error.
func tryQuickly(t *testing.T, rdb redis.UniversalClient) error {
	t.Helper()
	const limit = 500 * time.Millisecond // of a call that does not want to wait
	noise := listenToNoise(t)
	l := faultClient(t, rdb).NewLock("l")
	began := time.Now()
	err := locktest.Tried(l.TryLock(t.Context(), 0, 0))
	if took := time.Since(began); took > limit+noise.allow(20*time.Millisecond) {
		t.Errorf("returned after %v", took)
	}
	wants(t, err, reentrant.ErrNotAcquired)
	return err
}

// Nobody listens at the address: the error is that of dialing, also where go-redis dials for longer than
// the call has.
func TestFaultQuickRefused(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t)
	r.proxy.Refuse(true)
	for what, rdb := range map[string]redis.UniversalClient{
		"a server":                redis.NewClient(&redis.Options{Addr: r.proxy.Addr()}),
		"a server, dialed slowly": redis.NewClient(&redis.Options{Addr: r.proxy.Addr(), DialerRetryTimeout: time.Second}),
		"a Cluster":               redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{r.proxy.Addr()}}),
	} {
		t.Cleanup(func() { _ = rdb.Close() })
		if err := tryQuickly(t, rdb); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Redis is behind a black hole, with connections and without: there is no answer.
func TestFaultQuickBlackHole(t *testing.T) {
	t.Parallel()
	for _, connected := range []bool{false, true} {
		r := newFaultRig(t)
		rdb := r.through(t)
		if connected {
			must(t, rdb.Ping(t.Context()).Err())
		}
		r.proxy.Blackhole(true, true, faultproxy.Command)
		if err := tryQuickly(t, rdb); err == nil || !strings.Contains(err.Error(), "no answer from Redis") {
			t.Errorf("connected %v: %v", connected, err)
		}
		r.proxy.Heal()
		locktest.TidyWithin(t, r.Server, 10*time.Second, "l")
	}
}

// A server that does not know the script, and a node that has not the slot, are not the end of the one attempt.
func TestFaultQuickIsFollowed(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for range 3 {
		s.Do(t, "SCRIPT", "FLUSH")
		l := faultClient(t, s.Client(t)).NewLock("l")
		must(t, locktest.Tried(l.TryLock(t.Context(), 0, 0)))
		must(t, l.Unlock(t.Context()))
	}
	cluster := redistest.StartCluster(t, 3)
	rdb := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: cluster.Addrs, ClusterSlots: oneNode(cluster.Addrs[0]), // wrong for two slots of three
	})
	t.Cleanup(func() { _ = rdb.Close() })
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		l := faultClient(t, rdb).NewLock(name)
		must(t, locktest.Tried(l.TryLock(t.Context(), 0, 0)))
		must(t, l.Unlock(t.Context()))
	}
}

// oneNode is a map of a Cluster in which one node has all slots.
func oneNode(addr string) func(context.Context) ([]redis.ClusterSlot, error) {
	return func(context.Context) ([]redis.ClusterSlot, error) {
		return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: addr}}}}, nil
	}
}
