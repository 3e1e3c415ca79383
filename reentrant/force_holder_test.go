package reentrant_test

import (
	"errors"
	"testing"

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
