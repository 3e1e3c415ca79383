package reentrant_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// ForceUnlockHolder takes each kind of lock from the holder that Info has shown, in another Client or in this one, and from
// nobody else.
func TestForceUnlockHolder(t *testing.T) {
	for kind, lockOf := range map[string]func(c *reentrant.Client) *reentrant.Lock{
		"lock":  func(c *reentrant.Client) *reentrant.Lock { return c.NewLock("order") },
		"fair":  func(c *reentrant.Client) *reentrant.Lock { return c.NewFairLock("order") },
		"write": func(c *reentrant.Client) *reentrant.Lock { return c.NewReadWriteLock("order").Write() },
		"read":  func(c *reentrant.Client) *reentrant.Lock { return c.NewReadWriteLock("order").Read() },
	} {
		t.Run(kind, func(t *testing.T) {
			onEveryBackend(t, func(t *testing.T, b backend) {
				ctx := t.Context()
				holder, operator := b.newClient(t, b.client()), b.newClient(t, b.client())
				for _, by := range []*reentrant.Lock{lockOf(operator), lockOf(holder)} {
					l := lockOf(holder)
					hold, err := l.Acquire(ctx)
					must(t, err)
					info, err := by.Info(ctx)
					must(t, err)
					wantForced(t, by, info.Holder.Field+"0", false)
					must(t, l.Lock(ctx))
					must(t, l.Unlock(ctx))
					wantForced(t, by, info.Holder.Field, true)
					if err := hold.Release(ctx); !errors.Is(err, reentrant.ErrLost) {
						t.Fatalf("Release: %v", err)
					}
					must(t, l.Lock(ctx))
					wantForced(t, by, "", false)
					must(t, l.Unlock(ctx))
					wantForced(t, by, info.Holder.Field, false)
				}
			})
		})
	}
}

func wantForced(t *testing.T, by *reentrant.Lock, field string, want bool) {
	t.Helper()
	freed, err := by.ForceUnlockHolder(t.Context(), field)
	if freed != want || errors.Is(err, reentrant.ErrInvalidOwner) != (field == "") || err != nil && field != "" {
		t.Fatalf("force of %q: %v, %v", field, freed, err)
	}
}

// ExtendHolder makes a lock live longer, and never shorter, for the given holder alone.
func TestExtendHolder(t *testing.T) {
	onEveryServer(t, func(t *testing.T, b backend) {
		ctx := t.Context()
		holder, other := b.newClient(t, b.client()), b.newClient(t, b.client())
		rw := holder.NewReadWriteLock("prices")
		for _, l := range []*reentrant.Lock{holder.NewLock("order"), rw.Write(), rw.Read()} {
			must(t, l.LockLease(ctx, time.Minute))
			by := other.NewLock(l.Name())
			if l.Name() == "prices" {
				by = other.NewReadWriteLock("prices").Write()
			}
			info, err := by.Info(ctx)
			must(t, err)
			for _, c := range []struct {
				field   string
				lease   time.Duration
				want    bool
				atLeast time.Duration
			}{
				{info.Holder.Field, time.Hour, true, time.Hour - time.Minute},
				{info.Holder.Field, time.Second, true, time.Hour - time.Minute},
				{info.Holder.Field + "0", 3 * time.Hour, false, time.Hour - time.Minute},
			} {
				done, err := by.ExtendHolder(ctx, c.field, c.lease)
				must(t, err)
				now, err := by.Info(ctx)
				if must(t, err); done != c.want || now.TTL < c.atLeast || now.TTL > time.Hour {
					t.Errorf("by %v: %v, %v", c.lease, done, now)
				}
			}
			must(t, l.Unlock(ctx))
			if done, err := by.ExtendHolder(ctx, info.Holder.Field, time.Hour); done || err != nil {
				t.Errorf("a free lock: %v, %v", done, err)
			}
		}
		if _, err := rw.Read().ExtendHolder(ctx, "", time.Hour); !errors.Is(err, reentrant.ErrInvalidOwner) {
			t.Error(err)
		}
		if _, err := rw.Read().ExtendHolder(ctx, "x", 0); !errors.Is(err, reentrant.ErrInvalidLease) {
			t.Error(err)
		}
	})
}
