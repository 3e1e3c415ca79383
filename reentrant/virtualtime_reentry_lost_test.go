package reentrant_test

import (
	"context"
	"testing"

	"github.com/redlatch/redlatch/reentrant"
)

// A nested call was counted, an event function keeps it, and the lock is lost before its limit
// or its ctx ends. It is told of the loss and has nothing to unlock: the outer call alone has.
func TestTimeReentryLostBeforeItReturned(t *testing.T) {
	for name, lock := range map[string]func(ctx context.Context, l *reentrant.Lock) error{
		"limit": func(ctx context.Context, l *reentrant.Lock) error {
			_, err := l.TryLock(ctx, lease*2/3, 0)
			return err
		},
		"ctx": func(ctx context.Context, l *reentrant.Lock) error {
			ctx, cancel := context.WithTimeout(ctx, lease*2/3)
			defer cancel()
			return l.Lock(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				slow := make(chan struct{})
				l := v.client(reentrant.WithEvents(reentrant.Events{Reentered: func(reentrant.Event) { <-slow }})).NewLock("job")
				ctx := asHolder(t)
				must(t, l.Lock(ctx))
				nested := begin(func() error { return lock(ctx, l) })
				v.pass(lease / 100)
				v.mini.Del("job")
				v.pass(lease)
				close(slow)
				if !nested.over() {
					t.Fatal("the nested call has not returned")
				}
				wants(t, nested.err, reentrant.ErrLost)
				wants(t, l.Unlock(ctx), reentrant.ErrLost)
				wants(t, l.Unlock(ctx), reentrant.ErrNotHeld)
			})
		})
	}
}
