package multilock_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// A loss that the hold's ctx has told is not printed again, with all its members, by the release.
func TestLossIsToldOnce(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		l := v.process().all(t, name)
		lose := func(ctx context.Context) error {
			v.s[1].FlushAll()
			<-ctx.Done()
			return context.Cause(ctx)
		}
		check := func(how string, err error) {
			t.Helper()
			var lost *multilock.LostError
			if !errors.Is(err, reentrant.ErrLost) || !errors.As(err, &lost) || strings.Count(err.Error(), "10.0.0.2:6379: ") != 1 {
				t.Errorf("%s: %v", how, err)
			}
		}
		hold, err := l.Acquire(v.ctx)
		must(t, err)
		work := lose(hold.Context())
		check("Acquire", errors.Join(work, hold.Release(v.ctx)))
		check("Do", l.Do(v.ctx, lose))
		must(t, l.Lock(v.ctx))
		v.s[1].FlushAll()
		v.pass(notedIn)
		check("Unlock", l.Unlock(v.ctx))
	})
}
