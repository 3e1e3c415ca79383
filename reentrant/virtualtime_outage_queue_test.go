package reentrant_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// Redis is lost while many calls of one Client wait for a lock. Each bears that for a lease,
// counted from the outage: not from the moment when those before it have given up.
func TestTimeOutageEndsAllWaits(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		const lease = 20 * time.Second
		must(t, v.client().NewLock("l").LockLease(v.ctx, time.Hour))
		c := v.client(reentrant.WithLease(lease))
		l := c.NewLock("l")
		var calls []*pending
		for range 10 {
			calls = append(calls, begin(func() error { return l.Lock(v.ctx) }))
		}
		v.pass(3 * time.Second)
		v.refuseAll(loading)
		down := time.Now()
		v.pass(6 * time.Second)
		late := begin(func() error { return l.Lock(v.ctx) }) // after the first failure
		for i, call := range calls {
			if err := call.wait(); !errors.Is(err, reentrant.ErrNotAcquired) || !strings.Contains(err.Error(), "LOADING") {
				t.Errorf("call %d: %v", i, err)
			}
			// The next attempt may be a poll away when the outage begins.
			if d := call.at.Sub(down); d > lease+5*time.Second+time.Second {
				t.Errorf("call %d bore the outage for %v", i, d)
			}
		}
		v.refuseAll("")
		v.pass(10 * time.Second)
		if late.over() {
			t.Errorf("who came later ended too: %v", late.err)
		}
		must(t, c.Close(v.ctx))
		wants(t, late.wait(), reentrant.ErrClosed)
	})
}

// The lock was busy when TryLock came, and then Redis fell silent: at the limit nobody can
// say any more that somebody holds it.
func TestTimeSilenceIsNotBusy(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		const limit = 5 * time.Second
		must(t, v.client().NewLock("l").LockLease(v.ctx, limit/3))
		l := v.client().NewLock("l")
		var silent atomic.Bool
		v.onCommand(func(cmd string, _ []string) string {
			if silent.Load() && (cmd == "EVALSHA" || cmd == "EVAL") {
				time.Sleep(time.Hour)
			}
			return ""
		})
		try := func() error {
			ok, err := l.TryLock(v.ctx, limit, 0)
			if ok {
				t.Error("granted")
			}
			return err
		}
		head, second := begin(try), begin(try)
		v.pass(limit / 10)
		silent.Store(true)
		for what, call := range map[string]*pending{"the head": head, "the one behind": second} {
			if err := call.wait(); !errors.Is(err, reentrant.ErrNotAcquired) {
				t.Errorf("%s: %v, as if somebody had the lock", what, err)
			}
		}
		silent.Store(false)
		v.onCommand(nil)
	})
}

// A single attempt is not repeated, and not waited for as long as a wait.
func TestTimeSingleAttemptInAnOutage(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client().NewLock("l")
		try := func() (time.Duration, error) {
			began := time.Now()
			ok, err := l.TryLock(v.ctx, 0, 0)
			if ok {
				t.Error("granted")
			}
			return time.Since(began), err
		}
		v.refuseAll(loading)
		took, err := try()
		wants(t, err, reentrant.ErrNotAcquired)
		if took > quickWithin { // go-redis repeats the greeting of a new connection
			t.Errorf("refused after %v", took)
		}
		var asked atomic.Int32 // the server may still be at it when the call is over
		v.onCommand(func(cmd string, _ []string) string {
			if cmd == "EVALSHA" || cmd == "EVAL" {
				asked.Add(1)
				time.Sleep(3 * time.Second)
				return loading
			}
			return ""
		})
		took, err = try()
		wants(t, err, reentrant.ErrNotAcquired)
		if asked.Load() != 1 || took != quickWithin {
			t.Errorf("asked %d times, for %v", asked.Load(), took)
		}
		v.onCommand(nil)
	})
}

// A single attempt gives up sooner than a wait, and takes nobody along who waits behind it.
func TestTimeSingleAttemptFailsAlone(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client(reentrant.WithLease(time.Minute)).NewLock("l")
		var silent atomic.Bool
		silent.Store(true)
		v.onCommand(func(cmd string, _ []string) string {
			if silent.Load() && (cmd == "EVALSHA" || cmd == "EVAL") {
				time.Sleep(3 * time.Second)
				return loading
			}
			return ""
		})
		single := begin(func() error { _, err := l.TryLock(v.ctx, 0, 0); return err })
		v.pass(time.Second)
		waiting := begin(func() error { return l.Lock(v.ctx) })
		wants(t, single.wait(), reentrant.ErrNotAcquired)
		silent.Store(false)
		must(t, waiting.wait())
		v.onCommand(nil)
	})
}

// A call comes when another one is already told of the outage: it does not begin to bear the outage
// when the first has given up, but has borne it since it came.
func TestTimeOutageIsBorneFromTheCall(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client().NewLock("job")
		must(t, l.Lock(v.ctx)) // there is a connection from now on
		must(t, l.Unlock(v.ctx))
		v.refuseAll(loading)
		const apart, most = 300 * time.Millisecond, 3 * time.Second
		var calls []*pending
		var began []time.Time
		for i := range 5 {
			began = append(began, time.Now())
			calls = append(calls, begin(func() error { return l.Lock(reentrant.WithOwner(v.ctx, fmt.Sprint("o", i))) }))
			v.pass(apart)
		}
		for i, call := range calls {
			wants(t, call.wait(), reentrant.ErrNotAcquired)
			if took := call.at.Sub(began[i]); took > most {
				t.Errorf("call %d ended after %v", i, took)
			}
		}
	})
}
