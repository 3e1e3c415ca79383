package watchdog_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// A guarded lease is asked about every third of the Client's lease, until RenewUntil, and ends when its validity does.
func TestGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guards := 0
		r := &redis{answer: func(_ int, _ context.Context, targets []watchdog.Target) []watchdog.Result {
			for _, x := range targets {
				if x.Guard {
					guards++
				}
			}
			return all(watchdog.Renewed, targets)
		}}
		w := r.start(watchdog.Config{})
		defer closeNow(t, w)
		var h holder
		began := time.Now()
		s := fixed(4 * lease)
		s.Renew, s.Guard, s.RenewUntil = true, true, s.ValidUntil.Add(-lease/3)
		w.Add(&h.Watch, target(1), &h, s)
		after(4*lease + time.Second)
		if guards < 10 || guards > 12 {
			t.Errorf("%d guards", guards)
		}
		h.mustBeLost(t, s.ValidUntil, watchdog.CauseExpired)
		if n := h.renewals(); n != 0 || w.Stats().Renewals != 0 {
			t.Errorf("%d renewals told, %+v, since %v", n, w.Stats(), began)
		}
	})
}

// The answer to a guard does not count for the renewal of a lease that is renewed since.
func TestGuardIsNoRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &redis{}
		w := r.start(watchdog.Config{})
		defer closeNow(t, w)
		var h holder
		r.answer = func(n int, _ context.Context, targets []watchdog.Target) []watchdog.Result {
			if n == 0 {
				s := fixed(0)
				s.Renew = true
				w.Update(&h.Watch, s)
				return all(watchdog.Renewed, targets)
			}
			return all(watchdog.NotOwner, targets)
		}
		s := fixed(lease)
		s.Renew, s.Guard = true, true
		w.Add(&h.Watch, target(1), &h, s)
		after(lease/3 + time.Second)
		if until := w.ValidUntil(&h.Watch); !until.Equal(s.ValidUntil) {
			t.Errorf("the guard has moved the validity by %v", until.Sub(s.ValidUntil))
		}
	})
}
