package multilock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/multilock"
)

// kept fails unless a hold lasts for many leases.
func kept(t *testing.T, h *multilock.Hold) {
	t.Helper()
	began := time.Now()
	select {
	case <-h.Lost():
		t.Errorf("lost after %v, and two of three servers answer: %v", time.Since(began), context.Cause(h.Context()))
	case <-time.After(20 * lease):
	}
}

// A server of three falls silent. The monitor waits for its answer as long as WithMemberLimit allows,
// however long that is, and checks the two sound servers meanwhile.
func TestSilentMinorityUnderALongLimit(t *testing.T) {
	for _, limit := range []time.Duration{lease / 2, lease * 6 / 10, lease * 7 / 10, lease * 9 / 10} {
		t.Run(limit.String(), func(t *testing.T) {
			inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
				h, err := v.process().quorum(t, name, multilock.WithMemberLimit(limit)).Acquire(v.ctx)
				must(t, err)
				v.pass(lease / 10)
				speak := v.s[0].silence()
				kept(t, h)
				speak()
				_ = h.Release(v.ctx)
			})
		})
	}
}

// A server of three has forgotten its lock, grants it again only slowly, and never gives its run_id: an
// acquisition there takes two limits.
func TestSlowMemberUnderALongLimit(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		h, err := v.process().quorum(t, name, multilock.WithMemberLimit(lease/2)).Acquire(v.ctx)
		must(t, err)
		v.s[0].FlushAll()
		v.s[0].watch(func(cmd string) {
			switch cmd {
			case "EVALSHA", "EVAL":
				time.Sleep(lease * 4 / 10)
			case "INFO":
				time.Sleep(lease)
			}
		})
		kept(t, h)
		v.s[0].watch(nil)
		_ = h.Release(v.ctx)
	})
}

// Of five servers one is busy, the first in any order among them, and one silent, for which a
// round waits a moment. The limit falls into that moment: a majority in hand is enough then.
func TestMajorityInHandAtTheLimit(t *testing.T) {
	for busy := range 5 {
		for silent := range 5 {
			if silent == busy {
				continue
			}
			inVirtualTime(t, 5, func(t *testing.T, v *virtual) {
				a, b := v.process(), v.process()
				must(t, b[busy].NewLock(name).Lock(as(v.ctx, "b")))
				speak := v.s[silent].silence()
				l := a.quorum(t, name)
				if ok, err := l.TryLock(v.ctx, 20*time.Millisecond, 0); !ok {
					t.Errorf("%d busy, %d silent: %v", busy, silent, err)
				}
				speak()
				_ = l.Unlock(v.ctx)
				must(t, b[busy].NewLock(name).Unlock(as(v.ctx, "b")))
			})
		}
	}
}
