package reentrant_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// On a server, in a Cluster with sharded pub/sub, and in one with plain pub/sub.
func TestFindLocks(t *testing.T) {
	t.Parallel()
	server := func(t *testing.T) func() redis.UniversalClient {
		s := redistest.Start(t)
		return func() redis.UniversalClient { return s.Client(t) }
	}
	cluster := func(t *testing.T) func() redis.UniversalClient {
		c := redistest.StartCluster(t, 3)
		return func() redis.UniversalClient { return c.Client(t) }
	}
	t.Run("server", func(t *testing.T) { t.Parallel(); findLocks(t, server(t)) })
	t.Run("Cluster", func(t *testing.T) { t.Parallel(); findLocks(t, cluster(t)) })
	t.Run("Cluster, plain", func(t *testing.T) {
		t.Parallel()
		findLocks(t, cluster(t), reentrant.WithPlainPubSub())
	})
}

func findLocks(t *testing.T, rdb func() redis.UniversalClient, opts ...reentrant.Option) {
	const javas = "6f1c7e0c-5d1f-4d4e-9a55-0123456789ab:17"
	ctx, admin := t.Context(), rdb()
	client := func(prefix string) *reentrant.Client {
		return newClient(t, rdb(), append([]reentrant.Option{reentrant.WithPrefix(prefix)}, opts...)...)
	}
	holder, waiter, looker, other := client("app*:"), client("app*:"), client("app*:"), client("app")
	want := []string{"a{tag}b", "fair", "java", "javareads", "reads"}
	for n := range 300 { // several pages
		must(t, admin.Set(ctx, fmt.Sprint("app*:text", n), "1", 0).Err())
		must(t, admin.HSet(ctx, fmt.Sprint("app*:hash", n), "name", "x", javas, "1").Err())
		name := fmt.Sprint("order:", n)
		must(t, holder.NewLock(name).Lock(ctx))
		want = append(want, name)
	}
	must(t, admin.HSet(ctx, "appx:java", javas, "1").Err())
	must(t, admin.HSet(ctx, "app*:java", javas, "1").Err())
	must(t, admin.HSet(ctx, "app*:javareads", "mode", "read", javas, "1").Err())
	must(t, holder.NewLock("a{tag}b").Lock(ctx))
	must(t, holder.NewReadWriteLock("reads").Read().Lock(ctx))
	must(t, holder.NewFairLock("fair").Lock(ctx))
	slices.Sort(want)

	if got := namesOf(t, looker.Locks(ctx, "*")); !slices.Equal(got, want) {
		t.Errorf("found %d: %v", len(got), got)
	}
	if got := namesOf(t, looker.Locks(ctx, "order:29?")); len(got) != 10 {
		t.Errorf("found %v", got)
	}
	if got := namesOf(t, other.Locks(ctx, "x:*")); !slices.Equal(got, []string{"x:java"}) {
		t.Errorf("with another prefix %v", got)
	}
	for range looker.Locks(ctx, "*") {
		break
	}

	waits, stop := context.WithCancel(ctx)
	ended := make(chan error, 4)
	for _, l := range []*reentrant.Lock{
		waiter.NewLock("order:7"), waiter.NewLock("a{tag}b"), waiter.NewFairLock("fair"), waiter.NewReadWriteLock("reads").Write(),
	} {
		go func() { ended <- l.Lock(waits) }()
	}
	contended := []string{"a{tag}b", "fair", "order:7", "reads"}
	redistest.Eventually(t, 10*time.Second, "all waiters are seen", func() bool {
		got, err := looker.Contended(ctx)
		must(t, err)
		return slices.Equal(got, contended)
	})
	for name, kind := range map[string]string{"order:7": "plain", "fair": "fair", "reads": "read-write", "free": "plain"} {
		info, err := looker.Inspect(ctx, name)
		if must(t, err); info.Kind != kind || info.Held != (name != "free") || name != "free" && len(info.Waiters) != 1 {
			t.Errorf("%s: %+v", name, info)
		}
	}
	stop()
	for range cap(ended) {
		<-ended
	}
}

// namesOf are the names of an iteration, in order.
func namesOf(t *testing.T, all iter.Seq2[string, error]) (names []string) {
	t.Helper()
	for name, err := range all {
		must(t, err)
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// What ends an iteration: the caller's ctx, the end of the Client, a user without a permission.
func TestFindLocksEnds(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := newClient(t, s.Client(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantEnds(t, c, ctx, context.Canceled)
	s.Do(t, "ACL", "SETUSER", "blind", "on", ">p", "~*", "&*", "+@all", "-scan", "-pubsub|channels")
	blind := newClient(t, s.Client(t, func(o *redis.Options) { o.Username, o.Password = "blind", "p" }))
	wantEnds(t, blind, t.Context(), reentrant.ErrPermission)
	must(t, c.Close(t.Context()))
	wantEnds(t, c, t.Context(), reentrant.ErrClosed)
}

func wantEnds(t *testing.T, c *reentrant.Client, ctx context.Context, want error) {
	t.Helper()
	n := 0
	for name, err := range c.Locks(ctx, "*") {
		if n++; name != "" || !errors.Is(err, want) {
			t.Errorf("%q, %v, want %v", name, err, want)
		}
	}
	if _, err := c.Contended(ctx); n != 1 || !errors.Is(err, want) {
		t.Errorf("%d errors of Locks; Contended: %v, want %v", n, err, want)
	}
}
