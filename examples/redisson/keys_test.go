//go:build interop

package redisson_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Redisson's unlock writes a latch key and deletes it with a second command. If the
// JVM dies between the two it stays for up to 20 s, and Go must not mind.
func testLatchKeys(t *testing.T, r *rig) {
	const name = "latch"
	r.server.Do(t, "CONFIG", "SET", "notify-keyspace-events", "E$")
	t.Cleanup(func() { r.server.Do(t, "CONFIG", "SET", "notify-keyspace-events", "") })
	sub := r.server.Client(t).Subscribe(context.Background(), "__keyevent@0__:set")
	t.Cleanup(func() { sub.Close() })
	_, err := sub.Receive(context.Background())
	must(t, err)
	written := sub.Channel()

	latch := regexp.MustCompile(`^redisson_unlock_latch:\{latch\}:[0-9a-f]{32}$`)
	var latches []string
	for i, value := range []int{0, 1} { // an inner unlock leaves 0, the last one 1
		if i == 0 {
			r.java.do(t, "lock", name, 7)
			r.java.do(t, "lock", name, 7)
		}
		r.java.do(t, "unlock", name, 7)
		key := await(t, written, 5*time.Second).Payload
		for slices.Contains(latches, key) { // that was us, below
			key = await(t, written, 5*time.Second).Payload
		}
		if !latch.MatchString(key) {
			t.Fatalf("unlock wrote %s", key)
		}
		latches = append(latches, key)
		redistest.Eventually(t, 5*time.Second, "Redisson to delete its latch", func() bool {
			return r.server.Do(t, "EXISTS", key) == int64(0)
		})
		// As the death of the JVM would leave it.
		r.server.Do(t, "SET", key, value, "PX", 20_000)
	}

	c := r.client(t)
	lock := c.NewLock(name, reentrant.WithFencing())
	ctx := reentrant.WithOwner(t.Context(), "o")
	must(t, lock.Lock(ctx))
	must(t, lock.Lock(ctx))
	must(t, lock.Unlock(ctx))
	must(t, lock.Unlock(ctx))
	r.java.do(t, "lock", name, 7)
	granted := begin(func() error { return lock.Lock(ctx) })
	r.waitUntilGoWaits(t, name, c)
	r.java.do(t, "unlock", name, 7)
	must(t, await(t, granted, wokenWithin).err)
	if freed, err := lock.ForceUnlock(ctx); !freed || err != nil {
		t.Errorf("ForceUnlock: %v, %v", freed, err)
	}
	if err := lock.Unlock(ctx); !errors.Is(err, reentrant.ErrLost) {
		t.Errorf("Unlock: %v", err)
	}
	for _, key := range latches {
		if r.server.Do(t, "PTTL", key).(int64) <= 0 {
			t.Errorf("%s is gone, or without a TTL", key)
		}
		r.server.Do(t, "DEL", key)
	}
}

// With Redlatch's own keys around the lock, Redisson works as ever.
func testOurKeys(t *testing.T, r *rig) {
	const name = "ours"
	c := r.client(t)
	lock := c.NewLock(name)
	r.java.do(t, "lock", name, 7)
	ctx, leave := context.WithCancel(reentrant.WithOwner(t.Context(), "waiter"))
	waiting := begin(func() error { return lock.Lock(ctx) })
	r.waitUntilGoWaits(t, name, c)
	// A turn that is somebody else's, and an epoch.
	r.server.Do(t, "SET", "redlatch_turn:{"+name+"}", "nobody", "PX", 60_000)
	r.server.Do(t, "SET", "redlatch_epoch:{"+name+"}:nobody", 1, "PX", 60_000)

	r.java.do(t, "lock", name, 7)
	r.java.want(t, 2, "count", name, 7)
	r.java.do(t, "unlock", name, 7)
	r.java.want(t, true, "isLocked", name)
	second := r.java.begin(t, "lock", name, 8)
	r.waitUntilJavaWaits(t, name, 2) // Go's waiter listens too
	r.java.do(t, "unlock", name, 7)
	must(t, await(t, second, wokenWithin).err) // the turn keeps Go out, not Redisson
	r.java.want(t, true, "forceUnlock", name)
	r.java.want(t, true, "tryLock", name, 9, 0, -1)
	r.java.want(t, true, "held", name, 9)

	leave()
	if err := await(t, waiting, 5*time.Second).err; !errors.Is(err, context.Canceled) {
		t.Errorf("the waiter left with %v", err)
	}
	r.java.do(t, "unlock", name, 9)
	r.hash(t, name, nil)
	r.server.Do(t, "DEL", "redlatch_turn:{"+name+"}", "redlatch_epoch:{"+name+"}:nobody")
	for _, key := range r.server.Do(t, "KEYS", "*{"+name+"}*").([]any) {
		if !strings.HasPrefix(key.(string), "redlatch_") {
			t.Errorf("left behind: %s", key)
		}
	}
}

// The Java program's other kinds of locks work by themselves.
func testOtherKinds(t *testing.T, r *rig) {
	for _, kind := range []string{"fair", "write", "read"} {
		name := "kind:" + kind
		r.java.do(t, kind+" lock", name, 7)
		r.java.want(t, true, kind+" isLocked", name)
		r.java.want(t, true, kind+" held", name, 7)
		r.java.want(t, 1, kind+" count", name, 7)
		r.java.want(t, kind == "read", kind+" tryLock", name, 8, 0, -1)
		if kind == "read" {
			r.java.want(t, false, "write tryLock", name, 9, 0, -1)
			r.java.do(t, "read unlock", name, 8)
		}
		r.java.do(t, kind+" unlock", name, 7)
		r.java.want(t, false, kind+" isLocked", name)
	}
	r.java.do(t, "multi lock", "kind:m1,kind:m2", 7, 60_000)
	if ok, err := r.client(t).NewLock("kind:m2").TryLock(t.Context(), 0, 0); ok || err != nil {
		t.Errorf("TryLock of a member of Redisson's MultiLock: %v, %v", ok, err)
	}
	r.java.do(t, "multi unlock", "kind:m1,kind:m2", 7)
	r.java.want(t, false, "isLocked", "kind:m2")
}
