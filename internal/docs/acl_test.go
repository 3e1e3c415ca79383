package docs

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// TestPermissions uses locks as the Redis user of SECURITY.md. Redis must refuse
// nothing, and every command that the user may call must have been called.
func TestPermissions(t *testing.T) {
	rule := regexp.MustCompile("(?s)```acl\n(.*?)```").FindStringSubmatch(read(t, "SECURITY.md"))
	if rule == nil {
		t.Fatal("SECURITY.md has no rule")
	}
	server := redistest.Start(t)
	words := strings.Fields(rule[1])
	var command []any
	for _, word := range words {
		command = append(command, word)
	}
	server.Do(t, command...)
	server.Do(t, "CONFIG", "RESETSTAT")

	useLocks(t, server, asUser(t, server), asUser(t, server))

	// Redis logs also what it refused inside a script that goes on without it.
	for _, entry := range server.Do(t, "ACL", "LOG").([]any) {
		entry := fmt.Sprint(entry)
		// go-redis introduces itself with CLIENT and lives with a refusal.
		if !strings.Contains(entry, "object client|") {
			t.Errorf("Redis refused: %s", entry)
		}
	}
	for _, word := range words {
		if name, allowed := strings.CutPrefix(word, "+"); allowed && !called(t, server, name) {
			t.Errorf("%s is allowed and was never called", name)
		}
	}
}

func called(t *testing.T, server *redistest.Server, name string) bool {
	t.Helper()
	return strings.Contains(server.Do(t, "INFO", "commandstats").(string), "cmdstat_"+name+":")
}

// asUser returns a Client whose connections are the user's.
func asUser(t *testing.T, server *redistest.Server) *reentrant.Client {
	t.Helper()
	rdb := server.Client(t, func(opts *redis.Options) {
		opts.Username, opts.Password = "locks", "password"
	})
	client, err := reentrant.New(rdb, reentrant.WithPrefix("lock:"), reentrant.WithLease(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return client
}

// useLocks does everything with a lock that a Client can do.
func useLocks(t *testing.T, server *redistest.Server, a, b *reentrant.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	lock, rival := a.NewLock("x", reentrant.WithFencing()), b.NewLock("x", reentrant.WithFencing())

	hold, err := lock.Acquire(ctx)
	must(err)
	must(lock.Lock(ctx))
	must(lock.Unlock(ctx))

	// A waiter of another client gives up, the next one is woken by a release.
	if ok, err := rival.TryLock(ctx, 300*time.Millisecond, 0); ok || err != nil {
		t.Fatalf("TryLock got %v, %v", ok, err)
	}
	woken := make(chan error, 1)
	go func() { woken <- rival.Do(ctx, func(context.Context) error { return nil }) }()
	local := make(chan error, 1) // gets the lock by hand-over
	go func() { local <- lock.Do(ctx, func(context.Context) error { return nil }) }()
	redistest.Eventually(t, 10*time.Second, "one waiter each, a renewal, and a PING in the silence", func() bool {
		return a.Stats().Waiting == 1 && b.Stats().Waiting == 1 && a.Stats().Renewals > 0 && called(t, server, "ping")
	})
	must(hold.Release(ctx))
	must(<-local)
	must(<-woken)
	if b.Stats().WakeUps.Message == 0 || a.Stats().HandedOver == 0 {
		t.Errorf("not woken or not handed over: %+v, %+v", a.Stats(), b.Stats())
	}

	must(lock.Lock(ctx))
	if freed, err := rival.ForceUnlock(ctx); !freed || err != nil {
		t.Errorf("ForceUnlock got %v, %v", freed, err)
	}

	redistest.Eventually(t, 10*time.Second, "UNSUBSCRIBE", func() bool { return called(t, server, "unsubscribe") })
}
