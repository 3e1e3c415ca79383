package browsertests

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// javaThread holds a lock as Redisson writes it.
const javaThread = "6e5cd5a0-1111-4222-8333-123456789abc:17"

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newClient(t testing.TB, s *redistest.Server, opts ...reentrant.Option) *reentrant.Client {
	t.Helper()
	c, err := reentrant.New(s.Client(t), opts...)
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // what is held is left to expire
		_ = c.Close(ctx)
	})
	return c
}

func owner(t testing.TB, name string) context.Context { return reentrant.WithOwner(t.Context(), name) }

// waits has a call wait for a lock until the test ends or the lock is free, and returns when Redis knows of it.
func waits(t testing.TB, s *redistest.Server, l *reentrant.Lock, by string, known func() bool) (granted chan error) {
	t.Helper()
	granted = make(chan error, 1)
	go func() { granted <- l.Lock(owner(t, by)) }() // ends with the test's ctx
	redistest.Eventually(t, soon, by+" waits", known)
	return granted
}

func registered(t testing.TB, s *redistest.Server, lock string, n int64) func() bool {
	return func() bool { return s.Do(t, "ZCARD", "redlatch_waiters:{"+lock+"}") == n }
}

func inLine(t testing.TB, s *redistest.Server, lock string, n int64) func() bool {
	return func() bool { return s.Do(t, "LLEN", "redisson_lock_queue:{"+lock+"}") == n }
}

// held by Java, for two minutes.
func javaHolds(t testing.TB, s *redistest.Server, lock string) {
	t.Helper()
	s.Do(t, "HSET", lock, javaThread, 1)
	s.Do(t, "PEXPIRE", lock, (2 * time.Minute).Milliseconds())
}
