package reentrant_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

// WithMaxHold is for each owner: one that got the lock write-behind has the whole limit
// for itself, also while Redis does not take its field.
func TestMutantMaxHoldBeginsAnewBehind(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		const most = 10 * lease
		l := v.client(locktest.WriteBehind, reentrant.WithMaxHold(most)).NewLock("job")
		first, err := l.Acquire(owner(v.ctx, "a"))
		must(t, err)
		var second *reentrant.Hold
		waiter := begin(func() (err error) {
			second, err = l.Acquire(owner(v.ctx, "b"))
			return err
		})
		v.pass(most - 2*lease)
		refused := 0
		v.onScript("3", "epoch", func() string { // the transfer
			refused++
			return loading
		})
		must(t, first.Release(v.ctx))
		must(t, waiter.wait())
		began := time.Now()
		v.pass(most - lease)
		if refused == 0 {
			t.Fatal("the field was not to be moved")
		}
		if ended(second.Lost()) {
			t.Fatalf("lost before its limit of %v", most)
		}
		v.pass(2 * lease)
		if !ended(second.Lost()) {
			t.Errorf("not lost %v after the grant, the limit being %v", time.Since(began), most)
		}
	})
}
