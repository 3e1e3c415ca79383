package reentrant_test

import (
	"testing"
	"time"
)

// A lock becomes free without a message, and its waiter has it: when the TTL ends, and
// by the poll, whether the TTL said nothing or an hour. Package mutants has waiters that
// know less.
func TestMutantWaitWithoutMessages(t *testing.T) {
	const poll = 6 * time.Second // the longest, with its jitter
	for _, step := range []struct {
		name   string
		ttl    time.Duration // of the holder's key; 0: none
		delAt  time.Duration // 0: never
		within time.Duration // from the beginning
	}{
		{"the holder dies", 3 * time.Second, 0, 3*time.Second + 5*time.Millisecond},
		{"deleted without a TTL", 0, 20 * time.Second, 20*time.Second + poll},
		{"deleted an hour before its end", time.Hour, 20 * time.Second, 20*time.Second + poll},
	} {
		t.Run(step.name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				v.mini.HSet("job", "somebody:1", "1")
				if step.ttl > 0 {
					v.mini.SetTTL("job", step.ttl)
				}
				began := time.Now()
				l := v.client().NewLock("job")
				var ok bool
				waiter := begin(func() (err error) {
					ok, err = l.TryLock(v.ctx, time.Minute, 0)
					return err
				})
				if step.delAt > 0 {
					v.pass(step.delAt)
					v.mini.Del("job")
				}
				must(t, waiter.wait())
				if took := waiter.at.Sub(began); !ok || took > step.within {
					t.Errorf("%v after %v, want it within %v", ok, took, step.within)
				}
			})
		})
	}
}
