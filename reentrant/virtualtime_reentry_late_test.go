package reentrant_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// A nested Lock is answered when the lease of the outer one has ended and the watchdog has
// not come to say so: it is busy with an event function. The answer has extended the lease
// in Redis, but what the outer call was told is over, and the nested one must not be
// granted on it to hear of the loss a moment later.
func TestTimeReentryAnsweredTooLate(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		const outer = time.Second // trusted for 12 ms less than Redis keeps it
		var losses []string
		told := make(chan struct{})
		client := v.client(reentrant.WithEvents(reentrant.Events{Lost: func(e reentrant.Event) {
			losses = append(losses, e.Name)
			if e.Name == "another" {
				<-told // meanwhile nobody is told of any loss
			}
		}}))
		must(t, client.NewLock("another").LockLease(asHolder(t), outer*8/10))
		l := client.NewLock("l")
		hold, err := l.Acquire(asHolder(t), reentrant.WithFixedLease(outer))
		must(t, err)
		v.pass(outer * 9 / 10)
		v.onCommand(func(cmd string, _ []string) string {
			if cmd == "EVALSHA" {
				time.Sleep(outer/10 - 5*time.Millisecond)
			}
			return ""
		})
		lost := func(what string, err error) {
			t.Helper()
			var e *reentrant.LostError
			if !errors.As(err, &e) || e.Reason != reentrant.LeaseEnded || e.Name != "l" {
				t.Errorf("%s: %v", what, err)
			}
		}
		lost("a nested Lock", l.Lock(hold.Context()))
		v.onCommand(nil)
		if !ended(hold.Lost()) {
			t.Error("the outer hold is not told")
		}
		close(told)
		v.pass(time.Millisecond)
		lost("the outer hold", hold.Release(asHolder(t)))
		if err := l.Unlock(asHolder(t)); !errors.Is(err, reentrant.ErrNotHeld) {
			t.Errorf("an unlock too many: %v", err)
		}
		if len(losses) != 2 || losses[1] != "l" || client.Stats().Losses != 2 {
			t.Errorf("told of %v, counted %d", losses, client.Stats().Losses)
		}
		v.pass(lease / 10)
		if fields := v.fields("l"); fields != nil {
			t.Errorf("what the nested call left in Redis was not cleaned up: %v", fields)
		}
	})
}
