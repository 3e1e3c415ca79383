package reentrant_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

// While the release of an inner hold is under way Redis forgets the lock, and the outer one is
// passed on. The loss is the next holder's, and the inner release has nothing to say of it.
func TestTimeInnerReleaseOvertakenByAHandoff(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client(reentrant.WithHandoff(reentrant.WriteBehind)).NewLock("job")
		ctx := asHolder(t)
		must(t, l.Lock(ctx))
		must(t, l.Lock(ctx))
		next := begin(func() error { return l.Lock(locktest.AsWaiter(t)) })
		v.pass(lease / 100)
		v.onCommand(func(cmd string, _ []string) string {
			if cmd == "EVALSHA" {
				time.Sleep(lease / 20)
			}
			return ""
		})
		inner := begin(func() error { return l.Unlock(ctx) })
		v.pass(lease / 100)
		v.mini.Del("job")
		must(t, l.Unlock(ctx)) // passed on, without a word to Redis
		v.pass(lease / 10)
		if !inner.over() || inner.err != nil {
			t.Errorf("release of the inner hold: %v, %v", inner.over(), inner.err)
		}
		if !next.over() || next.err != nil {
			t.Errorf("the next holder: %v, %v", next.over(), next.err)
		}
		wants(t, l.Unlock(locktest.AsWaiter(t)), reentrant.ErrLost)
	})
}
