package reentrant_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// The ctx of a nested call ends since another lock is lost. This one is held still, and the error must
// not be that of its loss.
func TestTimeNestedCtxEndedByAnotherLoss(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		a, b := c.NewLock("a"), c.NewLock("b")
		ha, err := a.Acquire(reentrant.WithOwner(v.ctx, "o"))
		must(t, err)
		hb, err := b.Acquire(ha.Context())
		must(t, err)
		v.onScript("2", "epoch", func() string { time.Sleep(400 * time.Millisecond); return "" })
		call := begin(func() error { return b.Lock(ha.Context()) })
		v.pass(10 * time.Millisecond)
		_, err = a.ForceUnlock(v.ctx)
		must(t, err)
		if err = call.wait(); !errors.Is(err, reentrant.ErrNotAcquired) {
			t.Errorf("nested Lock of b: %v is not ErrNotAcquired", err)
		}
		if ended(hb.Lost()) {
			t.Error("b is lost")
		}
		v.onCommand(nil)
		v.pass(time.Second)
		must(t, hb.Release(context.WithoutCancel(v.ctx)))
	})
}
