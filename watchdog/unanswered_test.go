package watchdog_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// Unanswered is for the caller that ends a watch: it is true exactly if a renewal may still run.
func TestUnanswered(t *testing.T) {
	const third = lease / 3
	answered := func(_ int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
		return all(watchdog.Renewed, ts)
	}
	late := func(n int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
		if n == 0 { // given up after a sixth of the lease
			time.Sleep(third * 4 / 5)
		}
		return all(watchdog.Renewed, ts)
	}
	refused := func(n int, _ context.Context, ts []watchdog.Target) []watchdog.Result {
		if n == 0 {
			return all(watchdog.Failed, ts)
		}
		return all(watchdog.Renewed, ts)
	}
	for _, c := range []struct {
		name   string
		answer func(int, context.Context, []watchdog.Target) []watchdog.Result
		after  time.Duration
		want   bool
	}{
		{"none sent", answered, third / 2, false},
		{"answered", answered, third * 3 / 2, false},
		{"under way", slow(third / 5), third * 11 / 10, true},
		{"answered after a while", slow(third / 5), third * 13 / 10, false},
		{"given up, and the next one answered", late, third * 17 / 10, true},
		{"given up, answered, and the next one too", late, third * 19 / 10, false},
		{"failed, and the next one answered", refused, third * 3 / 2, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &redis{answer: c.answer}
				w := r.start(watchdog.Config{})
				h := &holder{}
				w.Add(&h.Watch, target(1), h, renewable())
				after(c.after)
				w.Remove(&h.Watch)
				if got := h.Watch.Unanswered(); got != c.want {
					t.Errorf("%v after %d calls", got, r.calls())
				}
				after(lease)
				w.Add(&h.Watch, target(1), h, renewable())
				w.Remove(&h.Watch)
				if h.Watch.Unanswered() {
					t.Error("true for a registration without a renewal")
				}
				closeNow(t, w)
			})
		})
	}
}
