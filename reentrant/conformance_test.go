package reentrant_test

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/petermattis/goid"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

func TestNestedLockingOnOneGoroutine(t *testing.T) {
	onEveryBackend(t, func(t *testing.T, b backend) {
		ctx, rdb := t.Context(), b.client()
		c := b.newClient(t, rdb)
		l := c.NewLock("order")
		field := c.ID() + ":" + strconv.FormatInt(goid.Get(), 10)
		for depth := 1; depth <= 3; depth++ {
			must(t, l.Lock(ctx))
			if got := hash(t, rdb, "order"); !maps.Equal(got, map[string]string{field: strconv.Itoa(depth)}) {
				t.Fatalf("depth %d: hash is %v", depth, got)
			}
			if n, err := l.HoldCount(ctx); n != depth || err != nil {
				t.Fatalf("depth %d: HoldCount is %d, %v", depth, n, err)
			}
		}
		for depth := 2; depth >= 0; depth-- {
			must(t, l.Unlock(ctx))
			want := map[string]string{field: strconv.Itoa(depth)}
			if depth == 0 {
				want = map[string]string{}
			}
			if got := hash(t, rdb, "order"); !maps.Equal(got, want) {
				t.Fatalf("depth %d: hash is %v", depth, got)
			}
		}
		if err := l.Unlock(ctx); !errors.Is(err, reentrant.ErrNotHeld) {
			t.Fatalf("one unlock too many: %v", err)
		}
	})
}

func TestHoldsCtxReentersOnAnotherGoroutine(t *testing.T) {
	onEveryBackend(t, func(t *testing.T, b backend) {
		ctx, rdb := t.Context(), b.client()
		l := b.newClient(t, rdb).NewLock("order")
		hold, err := l.Acquire(ctx)
		must(t, err)
		done := make(chan error)
		go func() { done <- l.Lock(hold.Context()) }()
		must(t, <-done)
		if got := hash(t, rdb, "order"); got[hold.Owner()] != "2" {
			t.Fatalf("hash is %v", got)
		}
		go func() { done <- l.Unlock(hold.Context()) }()
		must(t, <-done)
		// Without the hold's ctx the other goroutine is another owner.
		go func() { _, err := l.TryLock(ctx, 0, 0); done <- err }()
		must(t, <-done)
		if got := hash(t, rdb, "order"); got[hold.Owner()] != "1" {
			t.Fatalf("hash is %v", got)
		}
		must(t, hold.Release(ctx))
	})
}

func TestExplicitOwner(t *testing.T) {
	onEveryBackend(t, func(t *testing.T, b backend) {
		ctx, rdb := t.Context(), b.client()
		c := b.newClient(t, rdb)
		l := c.NewLock("order")
		order := reentrant.WithOwner(ctx, "order-42")
		must(t, l.Lock(order))
		if got := hash(t, rdb, "order"); got[c.ID()+":order-42"] != "1" {
			t.Fatalf("hash is %v", got)
		}
		if err := l.Unlock(ctx); !errors.Is(err, reentrant.ErrNotHeld) {
			t.Fatalf("unlock by the goroutine: %v", err)
		}
		must(t, l.Unlock(order))

		// An owner that is named like a goroutine is not that goroutine.
		must(t, l.Lock(ctx))
		same := reentrant.WithOwner(ctx, strconv.FormatInt(goid.Get(), 10))
		if ok, err := l.TryLock(same, 0, 0); ok || err != nil {
			t.Fatalf("a named owner passed for a goroutine: %v, %v", ok, err)
		}
		must(t, l.Unlock(ctx))

		for _, bad := range []string{"", "a\nb", "\xff", strings.Repeat("x", 257)} {
			if err := l.Lock(reentrant.WithOwner(ctx, bad)); !errors.Is(err, reentrant.ErrInvalidOwner) {
				t.Errorf("owner %q: %v", bad, err)
			}
		}
	})
}

// Two goroutines of one explicit owner must not wait for each other: nobody else
// could ever unlock for them.
func TestOneOwnerOnTwoGoroutines(t *testing.T) {
	onEveryBackend(t, func(t *testing.T, b backend) {
		ctx, rdb := t.Context(), b.client()
		other := b.newClient(t, b.client()).NewLock("order")
		must(t, other.Lock(ctx))
		l := b.newClient(t, rdb).NewLock("order")
		owner := reentrant.WithOwner(ctx, "one")
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				if err := l.Lock(owner); err != nil {
					t.Error(err)
				}
			})
		}
		must(t, other.Unlock(ctx))
		group.Wait()
		if n, err := l.HoldCount(owner); n != 4 || err != nil {
			t.Fatalf("HoldCount is %d, %v", n, err)
		}
		for range 4 {
			must(t, l.Unlock(owner))
		}
		if locked, err := l.IsLocked(ctx); locked || err != nil {
			t.Fatalf("IsLocked is %v, %v", locked, err)
		}
	})
}

func TestUnlockBySomebodyElseChangesNothing(t *testing.T) {
	onEveryBackend(t, func(t *testing.T, b backend) {
		ctx, rdb := t.Context(), b.client()
		holder := b.newClient(t, rdb)
		must(t, holder.NewLock("order").Lock(ctx))
		before := hash(t, rdb, "order")
		stranger := b.newClient(t, b.client()).NewLock("order")
		err := stranger.Unlock(ctx)
		var notHeld *reentrant.NotHeldError
		if !errors.Is(err, reentrant.ErrNotHeld) || !errors.As(err, &notHeld) || notHeld.Name != "order" {
			t.Fatalf("unlock by another client: %v", err)
		}
		done := make(chan error)
		go func() { done <- holder.NewLock("order").Unlock(ctx) }()
		if err := <-done; !errors.Is(err, reentrant.ErrNotHeld) {
			t.Fatalf("unlock by another goroutine: %v", err)
		}
		if after := hash(t, rdb, "order"); !maps.Equal(before, after) {
			t.Fatalf("hash was %v, is %v", before, after)
		}
		must(t, holder.NewLock("order").Unlock(ctx))
	})
}

func TestQueries(t *testing.T) {
	onEveryBackend(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		mine, theirs := b.newClient(t, b.client()).NewLock("order"), b.newClient(t, b.client()).NewLock("order")
		check := func(l *reentrant.Lock, locked, held bool, count int) {
			t.Helper()
			if got, err := l.IsLocked(ctx); got != locked || err != nil {
				t.Errorf("IsLocked is %v, %v", got, err)
			}
			if got, err := l.IsHeld(ctx); got != held || err != nil {
				t.Errorf("IsHeld is %v, %v", got, err)
			}
			if got, err := l.HoldCount(ctx); got != count || err != nil {
				t.Errorf("HoldCount is %v, %v", got, err)
			}
			ttl, err := l.TTL(ctx)
			if (ttl > 0) != locked || err != nil || ttl > 30*time.Second {
				t.Errorf("TTL is %v, %v", ttl, err)
			}
		}
		check(mine, false, false, 0)
		must(t, mine.Lock(ctx))
		check(mine, true, true, 1)
		check(theirs, true, false, 0)
		must(t, mine.Unlock(ctx))
		check(theirs, false, false, 0)
	})
}

func TestForceUnlock(t *testing.T) {
	onEveryBackend(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		holder, operator := b.newClient(t, b.client()), b.newClient(t, b.client())
		l := holder.NewLock("order")
		if freed, err := operator.NewLock("order").ForceUnlock(ctx); freed || err != nil {
			t.Fatalf("force of a free lock: %v, %v", freed, err)
		}
		must(t, l.Lock(ctx))
		must(t, l.Lock(ctx))
		if freed, err := operator.NewLock("order").ForceUnlock(ctx); !freed || err != nil {
			t.Fatalf("force: %v, %v", freed, err)
		}
		// The holder learns it at its unlock, and the nested one as well.
		for range 2 {
			var lost *reentrant.LostError
			if err := l.Unlock(ctx); !errors.Is(err, reentrant.ErrLost) || !errors.As(err, &lost) || lost.Reason != reentrant.Overridden {
				t.Fatalf("unlock after force: %v", err)
			}
		}
		if err := l.Unlock(ctx); !errors.Is(err, reentrant.ErrNotHeld) {
			t.Fatalf("third unlock: %v", err)
		}
		must(t, l.Lock(ctx))
		must(t, l.Unlock(ctx))
	})
}

func TestNames(t *testing.T) {
	onEveryBackend(t, func(t *testing.T, b backend) {
		ctx, rdb := t.Context(), b.client()
		c := b.newClient(t, rdb)
		for _, bad := range []string{
			"", strings.Repeat("n", 513), "a{b", "a}b", "}a{", "{}", "a{}b", "{a}{b}", "{{a}}", "a\x00b", "a\nb", "\xff",
		} {
			l := c.NewLock(bad)
			_, acquired := l.Acquire(ctx)
			_, tried := l.TryLock(ctx, 0, 0)
			_, asked := l.IsLocked(ctx)
			for i, err := range []error{l.Lock(ctx), l.Unlock(ctx), acquired, tried, asked} {
				if !errors.Is(err, reentrant.ErrInvalidName) {
					t.Errorf("%q, call %d: %v", bad, i, err)
				}
			}
		}
		for _, good := range []string{"a", strings.Repeat("n", 512), "order:{42}:x", "{42}", "schlüssel 🔒", "a:b/c*?[x]"} {
			l := c.NewLock(good)
			must(t, l.Lock(ctx))
			if got := hash(t, rdb, good); len(got) != 1 || l.Name() != good {
				t.Errorf("%q: hash is %v", good, got)
			}
			must(t, l.Unlock(ctx))
		}
		prefixed := b.newClient(t, b.client(), reentrant.WithPrefix("app:lock:"))
		must(t, prefixed.NewLock("x").Lock(ctx))
		if got := hash(t, rdb, "app:lock:x"); len(got) != 1 {
			t.Errorf("with a prefix: hash is %v", got)
		}
		if err := prefixed.NewLock(strings.Repeat("n", 512)).Lock(ctx); !errors.Is(err, reentrant.ErrInvalidName) {
			t.Errorf("512 bytes and a prefix: %v", err)
		}
		must(t, prefixed.NewLock("x").Unlock(ctx))
	})
}

func TestLeases(t *testing.T) {
	onEveryBackend(t, func(t *testing.T, b backend) {
		ctx, rdb := t.Context(), b.client()
		l := b.newClient(t, rdb).NewLock("order")
		for _, bad := range []time.Duration{-1, -time.Second, time.Nanosecond, time.Millisecond - 1, 1<<63 - 1} {
			_, tried := l.TryLock(ctx, 0, bad)
			_, acquired := l.Acquire(ctx, reentrant.WithFixedLease(bad))
			for i, err := range []error{l.LockLease(ctx, bad), tried, acquired} {
				if !errors.Is(err, reentrant.ErrInvalidLease) {
					t.Errorf("lease %v, call %d: %v", bad, i, err)
				}
			}
		}
		if err := l.LockLease(ctx, 0); !errors.Is(err, reentrant.ErrInvalidLease) {
			t.Errorf("LockLease of 0: %v", err)
		}
		if n, err := rdb.Exists(ctx, "order").Result(); n != 0 || err != nil {
			t.Errorf("a refused lease left a key: %v", err)
		}
		must(t, l.LockLease(ctx, time.Hour))
		if ttl, err := l.TTL(ctx); err != nil || ttl < 59*time.Minute || ttl > time.Hour {
			t.Errorf("TTL is %v, %v", ttl, err)
		}
		must(t, l.Unlock(ctx))
		for _, option := range []reentrant.Option{reentrant.WithLease(0), reentrant.WithLease(time.Microsecond)} {
			if _, err := reentrant.New(rdb, option); !errors.Is(err, reentrant.ErrInvalidLease) {
				t.Errorf("New: %v", err)
			}
		}
	})
}

func TestForeignKeyIsLeftAlone(t *testing.T) {
	onEveryBackend(t, func(t *testing.T, b backend) {
		ctx, rdb := t.Context(), b.client()
		must(t, rdb.Set(ctx, "order", "somebody's", 0).Err())
		l := b.newClient(t, b.client()).NewLock("order")
		_, tried := l.TryLock(ctx, time.Second, 0)
		_, forced := l.ForceUnlock(ctx)
		_, asked := l.TTL(ctx)
		for i, err := range []error{l.Lock(ctx), tried, forced, asked} {
			if !errors.Is(err, reentrant.ErrForeignKey) || !strings.Contains(err.Error(), "order") {
				t.Errorf("call %d: %v", i, err)
			}
		}
		if got, err := rdb.Get(ctx, "order").Result(); got != "somebody's" || err != nil {
			t.Errorf("the key is %q, %v", got, err)
		}
	})
}

func TestFencing(t *testing.T) {
	onEveryBackend(t, func(t *testing.T, b backend) {
		ctx, rdb := t.Context(), b.client()
		var last int64
		clients := []*reentrant.Client{b.newClient(t, rdb), b.newClient(t, b.client())}
		for i := range 10 {
			if i == 5 {
				must(t, rdb.Del(ctx, "redisson_lock_token:{order}").Err())
			}
			l := clients[i%2].NewLock("order", reentrant.WithFencing())
			hold, err := l.Acquire(ctx)
			must(t, err)
			nested, err := l.Acquire(ctx)
			must(t, err)
			if hold.Token() <= last || nested.Token() != hold.Token() {
				t.Fatalf("token %d, nested %d, after %d", hold.Token(), nested.Token(), last)
			}
			last = hold.Token()
			must(t, nested.Release(ctx))
			must(t, hold.Release(ctx))
		}
		plain, err := clients[0].NewLock("order").Acquire(ctx)
		must(t, err)
		if plain.Token() != 0 {
			t.Errorf("without fencing the token is %d", plain.Token())
		}
		must(t, plain.Release(ctx))
	})
}

// Every hand-off inside one Client is a new holder, so it gets a new token.
func TestFencingThroughHandOff(t *testing.T) {
	onEveryBackend(t, func(t *testing.T, b backend) {
		c := b.newClient(t, b.client())
		l := c.NewLock("order", reentrant.WithFencing())
		var last int64 // guarded by the lock
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for range 20 {
					hold, err := l.Acquire(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					if hold.Token() <= last {
						t.Errorf("token %d after %d", hold.Token(), last)
					}
					last = hold.Token()
					if err := hold.Release(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		if s := c.Stats(); s.HandedOver == 0 || s.Acquired != 160 {
			t.Errorf("stats: %+v", s)
		}
	})
}

func TestDo(t *testing.T) {
	onEveryBackend(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		l := b.newClient(t, b.client()).NewLock("order")
		var inner context.Context
		err := l.Do(ctx, func(ctx context.Context) error {
			inner = ctx
			return l.Do(ctx, func(ctx context.Context) error { // re-enters
				if n, err := l.HoldCount(ctx); n != 2 {
					t.Errorf("HoldCount is %d, %v", n, err)
				}
				return nil
			})
		})
		must(t, err)
		if !errors.Is(context.Cause(inner), reentrant.ErrReleased) {
			t.Errorf("the ctx ended with %v", context.Cause(inner))
		}

		broken := errors.New("broken")
		if err := l.Do(ctx, func(context.Context) error { return broken }); !errors.Is(err, broken) {
			t.Errorf("Do returned %v", err)
		}
		func() {
			defer func() {
				if got := recover(); got != "boom" {
					t.Errorf("recovered %v", got)
				}
			}()
			l.Do(ctx, func(context.Context) error { panic("boom") })
		}()
		// A ctx that ends inside does not keep the lock.
		short, cancel := context.WithCancel(ctx)
		must(t, l.Do(short, func(context.Context) error { cancel(); return nil }))
		if locked, err := l.IsLocked(ctx); locked || err != nil {
			t.Errorf("IsLocked is %v, %v", locked, err)
		}
	})
}

func TestHoldIsReleasedOnce(t *testing.T) {
	onEveryBackend(t, func(t *testing.T, b backend) {
		ctx, rdb := t.Context(), b.client()
		l := b.newClient(t, rdb).NewLock("order")
		outer, err := l.Acquire(ctx)
		must(t, err)
		inner, err := l.Acquire(ctx)
		must(t, err)
		must(t, inner.Release(ctx))
		if err := inner.Release(ctx); !errors.Is(err, reentrant.ErrNotHeld) {
			t.Fatalf("second release: %v", err)
		}
		if outer.Context().Err() != nil || !errors.Is(context.Cause(inner.Context()), reentrant.ErrReleased) {
			t.Fatalf("outer ctx %v, inner ctx %v", outer.Context().Err(), context.Cause(inner.Context()))
		}
		if got := hash(t, rdb, "order"); got[outer.Owner()] != "1" {
			t.Fatalf("hash is %v", got)
		}
		must(t, outer.Release(ctx))
		// A release that comes late must not take the owner's next hold.
		next, err := l.Acquire(ctx)
		must(t, err)
		if err := outer.Release(ctx); !errors.Is(err, reentrant.ErrNotHeld) {
			t.Fatalf("late release: %v", err)
		}
		if got := hash(t, rdb, "order"); got[next.Owner()] != "1" {
			t.Fatalf("hash is %v", got)
		}
		must(t, next.Release(ctx))
	})
}

func TestExclusion(t *testing.T) {
	onEveryBackend(t, func(t *testing.T, b backend) {
		var all []*reentrant.Client
		for range 4 {
			all = append(all, b.newClient(t, b.client()))
		}
		locktest.Contend(t, "number", all, 4, 50)
		rdb := b.client()
		redistest.Eventually(t, 5*time.Second, "every key of ours to be gone or to have a TTL", func() bool {
			keys, err := rdb.Keys(t.Context(), "*").Result()
			must(t, err)
			for _, key := range keys {
				if rdb.PTTL(t.Context(), key).Val() == -1 {
					return false
				}
			}
			return rdb.Exists(t.Context(), "number").Val() == 0
		})
		for _, c := range all {
			if s := c.Stats(); s.Held != 0 || s.Waiting != 0 {
				t.Errorf("stats: %+v", s)
			}
		}
	})
}
