package multilock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// A MultiLock among the members fails for reasons of its own members, some of which are slow only.
// It has failed all the same, and the outer one gives up as with any member.
func TestNestedMemberThatFailsForGood(t *testing.T) {
	inVirtualTime(t, 2, func(t *testing.T, v *virtual) {
		outer, err := multilock.New(v.process().all(t, name))
		must(t, err)
		v.s[0].refuse("ERR down")
		speak := v.s[1].silence()
		defer speak()
		ctx, cancel := context.WithTimeout(v.ctx, time.Hour)
		defer cancel()
		began := time.Now()
		wants(t, outer.Lock(ctx), reentrant.ErrNotAcquired)
		if took := time.Since(began); took > time.Minute {
			t.Errorf("took %v", took)
		}
	})
}

// A quorum among the members can do without the one whose Client is closed.
func TestNestedQuorumThatFailsForNow(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		a := v.process()
		must(t, a[0].Close(v.ctx))
		outer, err := multilock.New(a.quorum(t, name))
		must(t, err)
		v.s[1].refuse("ERR down")
		lock := begin(func() error { return outer.Lock(as(v.ctx, "x")) })
		v.pass(time.Millisecond)
		v.s[1].refuse("")
		<-lock.done
		must(t, lock.err)
		must(t, outer.Unlock(as(v.ctx, "x")))
	})
}

// A nested single attempt finds the loss when it has got the servers anew, and gives them back: that
// too is bounded.
func TestNestedTryLockAfterALossIsBounded(t *testing.T) {
	inVirtualTime(t, 5, func(t *testing.T, v *virtual) {
		l := v.process().quorum(t, name)
		v.s[3].refuse("ERR down")
		v.s[4].refuse("ERR down")
		must(t, l.Lock(v.ctx))
		v.s[0].FlushAll()
		v.s[1].FlushAll()
		v.s[3].refuse("")
		v.s[4].refuse("")
		for _, s := range v.s[2:] {
			proven := false
			s.watch(func(cmd string) {
				switch cmd {
				case "INFO":
					proven = true
				case "EVAL", "EVALSHA":
					if proven {
						time.Sleep(4 * lease)
					}
				}
			})
		}
		began := time.Now()
		_, err := l.TryLock(v.ctx, 0, 0)
		wants(t, err, reentrant.ErrLost)
		if took := time.Since(began); took > 3*limit {
			t.Errorf("took %v", took)
		}
		for _, s := range v.s {
			s.watch(nil)
		}
		v.pass(10 * lease)
	})
}

// A hold is lost whose first member was busy from the beginning. A nested call and Unlock are told
// of the loss, and not that a member was not acquired.
func TestLossIsNotARefusal(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		a, b := v.process(), v.process()
		must(t, b[0].NewLock(name).Lock(v.ctx))
		l := a.quorum(t, name)
		must(t, l.Lock(v.ctx))
		v.s[1].FlushAll()
		v.s[2].FlushAll()
		for what, err := range map[string]error{"Lock": l.Lock(v.ctx), "Unlock": l.Unlock(v.ctx)} {
			wants(t, err, reentrant.ErrLost)
			if errors.Is(err, reentrant.ErrNotAcquired) {
				t.Errorf("%s: also ErrNotAcquired: %v", what, err)
			}
		}
		must(t, b[0].NewLock(name).Unlock(v.ctx))
	})
}

// The error names what was held at the last try, also when the call ends between two tries.
func TestNotAcquiredTellsWhatWasHeld(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		l := v.process().all(t, name)
		v.s[1].refuse("ERR down")
		for _, wait := range []time.Duration{0, limit / 20, limit / 5, limit / 2} {
			_, err := l.TryLock(v.ctx, wait, 0)
			var refused *multilock.NotAcquiredError
			if !errors.As(err, &refused) || refused.Held != 2 {
				t.Errorf("wait %v: %v", wait, err)
			}
		}
	})
}
