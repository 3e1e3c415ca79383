package reentrant_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// The call leaves after a try without an answer, and there is no second one: nothing is confirmed, and the hold
// is valid no longer than before.
func TestTimeExtendLeftBeforeAnotherTry(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := newClient(t, redistest.MiniClient(t, v.mini, func(o *redis.Options) { o.ReadTimeout = lease / 10 }),
			reentrant.WithLease(lease))
		hold := fixedHold(t, v, c.NewLock("job"), 10*lease)
		before := hold.ValidUntil()
		v.onScript("2", "epoch", func() string {
			time.Sleep(lease)
			return "ERR not run"
		})
		ctx, cancel := context.WithTimeout(v.ctx, lease/20)
		defer cancel()
		wants(t, hold.Extend(ctx, time.Hour), reentrant.ErrNotExtended)
		v.pass(lease / 2)
		if until := hold.ValidUntil(); !until.Equal(before) {
			t.Errorf("valid until %v more", until.Sub(before))
		}
		v.pass(3 * lease)
		v.onCommand(nil)
		must(t, hold.Release(v.ctx))
	})
}

// The call leaves after a try that Redis has refused, before the next one: nothing is confirmed either.
func TestTimeExtendLeftAfterARefusal(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		hold := fixedHold(t, v, v.client().NewLock("job"), 10*lease)
		before := hold.ValidUntil()
		v.onScript("2", "epoch", func() string { return "LOADING Redis is loading the dataset in memory" })
		ctx, cancel := context.WithTimeout(v.ctx, 2*time.Millisecond) // the second try is 4 ms after the first
		defer cancel()
		wants(t, hold.Extend(ctx, time.Hour), reentrant.ErrNotExtended)
		v.pass(lease)
		if until := hold.ValidUntil(); !until.Equal(before) {
			t.Errorf("valid for %v more, and Redis has refused", until.Sub(before))
		}
		v.onCommand(nil)
		must(t, hold.Release(v.ctx))
	})
}
