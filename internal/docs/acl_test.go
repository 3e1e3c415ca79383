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
	// A refused call is in the statistics too, with calls=0.
	return regexp.MustCompile("cmdstat_" + name + ":calls=[1-9]").MatchString(server.Do(t, "INFO", "commandstats").(string))
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
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := client.Close(ctx); err != nil {
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

	// Two holds on one lock, and a waiter of another client that gives up.
	hold, err := lock.Acquire(ctx)
	must(err)
	must(lock.Lock(ctx))
	must(lock.Unlock(ctx))
	if ok, err := rival.TryLock(ctx, 300*time.Millisecond, 0); ok || err != nil {
		t.Fatalf("TryLock got %v, %v", ok, err)
	}

	// One waiter for the hand-over, one for the message, and one on another lock.
	other, err := a.NewLock("y").Acquire(ctx)
	must(err)
	nothing := func(context.Context) error { return nil }
	done := make(chan error, 3)
	go func() { done <- lock.Do(ctx, nothing) }()
	go func() { done <- rival.Do(ctx, nothing) }()
	redistest.Eventually(t, 10*time.Second, "waiters, a renewal, and a PING in the silence", func() bool {
		return a.Stats().Waiting == 1 && b.Stats().Waiting == 1 && a.Stats().Renewals > 0 && called(t, server, "ping")
	})
	go func() { done <- b.NewLock("y").Do(ctx, nothing) }()
	must(hold.Release(ctx))
	must(<-done)
	must(<-done)
	if b.Stats().WakeUps.Message == 0 || a.Stats().HandedOver == 0 {
		t.Errorf("not woken or not handed over: %+v, %+v", a.Stats(), b.Stats())
	}

	must(lock.Lock(ctx))
	if freed, err := rival.ForceUnlock(ctx); !freed || err != nil {
		t.Errorf("ForceUnlock got %v, %v", freed, err)
	}
	redistest.Eventually(t, 10*time.Second, "UNSUBSCRIBE from the lock that nobody waits for", func() bool {
		return called(t, server, "unsubscribe")
	})
	must(other.Release(ctx))
	must(<-done)
}
