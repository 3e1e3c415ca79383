package reentrant_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/reentrant"
)

// A loss that the work returns, as the cause of its ctx, is not printed again by the release. Who has not heard of
// it hears it in full.
func TestTimeLossIsToldOnce(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client().NewLock("job")
		const full = "after 333ms: Redis no longer knows the hold"
		lose := func(ctx context.Context) error {
			v.mini.Del("job")
			<-ctx.Done()
			return context.Cause(ctx)
		}
		check := func(how string, err error) {
			t.Helper()
			var lost *reentrant.LostError
			if !errors.Is(err, reentrant.ErrLost) || !errors.As(err, &lost) || strings.Count(err.Error(), full) != 1 {
				t.Errorf("%s: %v", how, err)
			}
		}
		hold, err := l.Acquire(v.ctx)
		must(t, err)
		work := lose(hold.Context())
		check("Acquire", errors.Join(work, hold.Release(v.ctx)))
		check("Do", l.Do(v.ctx, lose))
		check("Do whose function says nothing", l.Do(v.ctx, func(ctx context.Context) error { _ = lose(ctx); return nil }))
		must(t, l.Lock(asHolder(t)))
		v.mini.Del("job")
		v.pass(lease)
		check("Unlock", l.Unlock(asHolder(t)))
	})
}
