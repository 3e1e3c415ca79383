package redlatchgoose_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"github.com/pressly/goose/v3/lock/locktesting"

	redlatchgoose "github.com/redlatch/redlatch/adapters/goose"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

func openTest(t *testing.T) *sql.DB {
	t.Helper()
	db, err := open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// goose's own tests of a Locker: five providers, each with a Client, or with one Locker.
func TestLocktesting(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	t.Run("providers", func(t *testing.T) {
		db := openTest(t)
		locktesting.TestProviderLocking(t, func(t *testing.T) *goose.Provider {
			return provider(t, db, redlatchgoose.New(newClient(t, server.Client(t)).NewLock("a")))
		})
	})
	t.Run("providers that share a Locker", func(t *testing.T) {
		db, locker := openTest(t), redlatchgoose.New(newClient(t, server.Client(t)).NewLock("b"))
		locktesting.TestProviderLocking(t, func(t *testing.T) *goose.Provider { return provider(t, db, locker) })
	})
	// It unlocks with a ctx whose deadline has passed.
	t.Run("lockers", func(t *testing.T) {
		rdb := server.Client(t)
		locktesting.TestConcurrentLocking(t, openTest(t), func(t *testing.T) lock.Locker {
			return redlatchgoose.New(newClient(t, rdb).NewLock("c"))
		}, time.Second)
		if n := rdb.Exists(t.Context(), "c").Val(); n != 0 {
			t.Error("the lock was not released")
		}
	})
}

func provider(t *testing.T, db *sql.DB, locker lock.Locker) *goose.Provider {
	t.Helper()
	p, err := newProvider(db, locker, func(context.Context) {})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Up is cancelled while a migration runs: goose unlocks, and the lock is free.
func TestCancelled(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p, err := newProvider(openTest(t), redlatchgoose.New(newClient(t, rdb).NewLock("migrations")), func(ctx context.Context) {
		cancel()
		<-ctx.Done()
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Up(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if n := rdb.Exists(t.Context(), "migrations").Val(); n != 0 {
		t.Error("the lock was not released")
	}
}

// Another process migrates for longer than the wait.
func TestBusy(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	hold, err := newClient(t, server.Client(t)).NewLock("migrations").Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	limited := newClient(t, server.Client(t)).NewLock("migrations").With(reentrant.WithWait(100 * time.Millisecond))
	p, err := newProvider(openTest(t), redlatchgoose.New(limited), func(context.Context) { t.Error("it migrates without the lock") })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Up(t.Context()); !errors.Is(err, reentrant.ErrBusy) {
		t.Errorf("got %v, want ErrBusy", err)
	}
	if err := hold.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// A provider has lost the lock and another one that shares the Locker has it. The first one's Unlock tells the loss, and
// leaves the lock to the second.
func TestLoss(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client(t)
	l := newClient(t, rdb).NewLock("migrations")
	locker := redlatchgoose.New(l)
	if err := locker.Lock(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if freed, err := l.ForceUnlock(t.Context()); err != nil || !freed {
		t.Fatal(freed, err)
	}
	if err := locker.Lock(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := locker.Unlock(t.Context(), nil); !errors.Is(err, reentrant.ErrLost) {
		t.Errorf("the first Unlock: got %v, want ErrLost", err)
	}
	if n := rdb.Exists(t.Context(), "migrations").Val(); n != 1 {
		t.Error("the first Unlock has released the second one's lock")
	}
	if err := locker.Unlock(t.Context(), nil); err != nil {
		t.Errorf("the second Unlock: %v", err)
	}
	if err := locker.Unlock(t.Context(), nil); !errors.Is(err, reentrant.ErrNotHeld) {
		t.Errorf("a third Unlock: got %v, want ErrNotHeld", err)
	}
}
