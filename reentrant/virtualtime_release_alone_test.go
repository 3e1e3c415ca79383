package reentrant_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// Redis is slow, and callers with little patience come all the time: each of them has left
// when the lock arrives, and the lock goes on to the next. Who released it does not wait
// for that.
func TestTimeUnlockLeavesTheImpatientBehind(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		const slow, patience = 300 * time.Millisecond, 250 * time.Millisecond
		l := v.client(reentrant.WithLease(time.Minute)).NewLock("l")
		must(t, l.Lock(asHolder(t)))
		v.onCommand(func(cmd string, _ []string) string {
			if cmd == "EVALSHA" || cmd == "EVAL" {
				time.Sleep(slow)
			}
			return ""
		})
		var callers []*pending
		for i := range 50 {
			callers = append(callers, begin(func() error {
				time.Sleep(time.Duration(i) * 100 * time.Millisecond)
				_, err := l.TryLock(v.ctx, patience, 0)
				return err
			}))
		}
		time.Sleep(slow)
		began := time.Now()
		must(t, l.Unlock(asHolder(t)))
		if d := time.Since(began); d > 2*slow { // the hand-off, and EVAL for one that is not known yet
			t.Errorf("Unlock took %v, for commands of %v", d, slow)
		}
		for _, c := range callers {
			<-c.done // busy, or silent for too long
		}
		v.onCommand(nil)
		v.pass(10 * time.Second)
		if fields := v.fields("l"); fields != nil {
			t.Errorf("left behind: %v", fields)
		}
	})
}
