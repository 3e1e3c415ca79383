package redlatchcertmagic_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/caddyserver/certmagic"
	"go.uber.org/zap"

	redlatchcertmagic "github.com/redlatch/redlatch/adapters/certmagic"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// Lock and Unlock on different goroutines; TryLock while another machine has the lock; a ctx that has ended.
func TestLocker(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client(t)
	storage, other := redlatchcertmagic.New(nil, newClient(t, rdb)), redlatchcertmagic.New(nil, newClient(t, rdb))
	const name = "issue_cert_*.example.com"
	ctx, cancel := context.WithCancel(t.Context())
	if err := storage.Lock(ctx, name); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*redlatchcertmagic.Storage{storage, other} {
		if ok, err := s.TryLock(ctx, name); ok || err != nil {
			t.Errorf("TryLock of a lock that is held: %t, %v", ok, err)
		}
	}
	cancel()
	if err := other.Lock(ctx, name); !errors.Is(err, context.Canceled) {
		t.Errorf("Lock with a ctx that has ended: got %v", err)
	}
	released := make(chan error)
	go func() { released <- storage.Unlock(ctx, name) }()
	if err := <-released; err != nil {
		t.Errorf("Unlock with a ctx that has ended: %v", err)
	}
	if ok, err := other.TryLock(t.Context(), name); !ok || err != nil {
		t.Errorf("TryLock of a free lock: %t, %v", ok, err)
	}
	if err := storage.Unlock(t.Context(), name); !errors.Is(err, reentrant.ErrNotHeld) {
		t.Errorf("a second Unlock: got %v, want ErrNotHeld", err)
	}
	if err := other.Unlock(t.Context(), name); err != nil {
		t.Error(err)
	}
}

// A Redis that is down is no busy lock.
func TestDown(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	storage := redlatchcertmagic.New(nil, newClient(t, server.Client(t)))
	server.Kill()
	if ok, err := storage.TryLock(t.Context(), "a"); ok || err == nil || errors.Is(err, reentrant.ErrBusy) {
		t.Errorf("got %t, %v", ok, err)
	}
}

// RenewLockLease tells a loss. The Unlock of the call that has lost the lock leaves it to the one that has it now.
func TestLoss(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client(t)
	storage, other := redlatchcertmagic.New(nil, newClient(t, rdb)), newClient(t, rdb).NewLock(redlatchcertmagic.Prefix+"a")
	ctx := t.Context()
	if err := storage.RenewLockLease(ctx, "a", time.Hour); !errors.Is(err, reentrant.ErrNotHeld) {
		t.Errorf("without a lock: got %v, want ErrNotHeld", err)
	}
	if err := errors.Join(storage.Lock(ctx, "a"), storage.RenewLockLease(ctx, "a", time.Hour)); err != nil {
		t.Fatal(err)
	}
	if freed, err := other.ForceUnlock(ctx); err != nil || !freed {
		t.Fatal(freed, err)
	}
	redistest.Eventually(t, 10*time.Second, "the loss is told", func() bool {
		return errors.Is(storage.RenewLockLease(ctx, "a", time.Hour), reentrant.ErrLost)
	})
	if err := errors.Join(storage.Lock(ctx, "a"), storage.RenewLockLease(ctx, "a", time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := storage.Unlock(ctx, "a"); !errors.Is(err, reentrant.ErrLost) {
		t.Errorf("the first Unlock: got %v, want ErrLost", err)
	}
	if locked, err := other.IsLocked(ctx); err != nil || !locked {
		t.Errorf("after the first Unlock: locked %t, %v", locked, err)
	}
	if err := storage.Unlock(ctx, "a"); err != nil {
		t.Errorf("the second Unlock: %v", err)
	}
}

// The program ends while it obtains a certificate: certmagic frees the lock on another goroutine. It is no test beside
// others, as certmagic's list of locks is one of the process.
func TestCleanUpOwnLocks(t *testing.T) {
	rdb := redistest.Start(t).Client(t)
	begun, ctx := make(chan struct{}), t.Context()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cfg, end := config(t.TempDir(), newClient(t, rdb), func(ctx context.Context) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	})
	defer end()
	done := make(chan error)
	go func() { done <- cfg.ObtainCertSync(ctx, "shop.example.com") }()
	<-begun
	key := redlatchcertmagic.Prefix + "issue_cert_shop.example.com"
	if n := rdb.Exists(ctx, key).Val(); n != 1 {
		t.Errorf("%s is not locked", key)
	}
	certmagic.CleanUpOwnLocks(ctx, zap.NewNop())
	if n := rdb.Exists(ctx, key).Val(); n != 0 {
		t.Errorf("%s is still locked", key)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
