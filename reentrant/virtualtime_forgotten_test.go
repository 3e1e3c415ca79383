package reentrant_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/reentrant"
)

// An administrator flushes Redis, deletes the key or forces the lock. The holder hears of
// it by its next renewal, the next one has the lock with a greater token although the
// counter may be gone too, and what the loser does then changes nothing of that.
func TestFault32ForgottenOrForced(t *testing.T) {
	for what, forget := range map[string]func(v *virtual, k locktest.Kind) error{
		"FLUSHALL":    func(v *virtual, _ locktest.Kind) error { v.mini.FlushAll(); return nil },
		"DEL":         func(v *virtual, _ locktest.Kind) error { v.mini.Del("job"); return nil },
		"ForceUnlock": forceFromElsewhere,
	} {
		t.Run(what, func(t *testing.T) {
			locktest.Each(t, locktest.Renewed(locktest.AllKinds...), func(t *testing.T, k locktest.Kind) { forgottenOrForced(t, k, what, forget) })
		})
	}
}

func forgottenOrForced(t *testing.T, k locktest.Kind, what string, forget func(v *virtual, k locktest.Kind) error) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		waiting := v.client()
		a := k.Held(v.client(), "job", reentrant.WithFencing())
		b := k.Rival(waiting, "job", reentrant.WithFencing())
		var last int64
		for _, age := range []time.Duration{0, 100 * time.Millisecond, 4 * lease} {
			first, err := a.Acquire(v.ctx)
			must(t, err)
			got := make(chan *reentrant.Hold, 1)
			waiter := begin(func() error {
				h, err := b.Acquire(v.ctx, reentrant.WithWait(time.Minute))
				got <- h
				return err
			})
			v.pass(age + time.Millisecond) // and there is a waiter
			messages := waiting.Stats().WakeUps.Message
			must(t, forget(v, k))
			forgot := time.Now()
			lost := begin(func() error {
				select {
				case <-first.Lost():
					return nil
				case <-time.After(time.Minute):
					return errors.New("the holder was not told")
				}
			})
			must(t, waiter.wait())
			second := <-got
			must(t, lost.wait())
			if d := lost.at.Sub(forgot); d > lease/3 {
				t.Errorf("%s: the loss was noticed after %v", what, d)
			}
			var why *reentrant.LostError
			if !errors.As(context.Cause(first.Context()), &why) || why.Reason != reentrant.Overridden {
				t.Errorf("%s: %v", what, context.Cause(first.Context()))
			}
			if k.Token && (first.Token() <= last || second.Token() <= first.Token()) {
				t.Errorf("%s: tokens %d, %d after %d", what, first.Token(), second.Token(), last)
			}
			last = second.Token()
			switch took := waiter.at.Sub(forgot); {
			case what == "ForceUnlock" && (took > 5*time.Millisecond || waiting.Stats().WakeUps.Message == messages):
				t.Errorf("%s: nobody was woken, %v", what, took)
			case took > lease+5*time.Millisecond: // no message: the TTL that it knew of
				t.Errorf("%s: found free after %v", what, took)
			}
			wants(t, first.Release(v.ctx), reentrant.ErrLost)
			v.pass(2 * lease)
			held := v.fields("job")
			delete(held, "mode")
			if ended(second.Lost()) || len(held) != 1 {
				t.Errorf("%s: the next holder has %v", what, held)
			}
			must(t, second.Release(v.ctx))
		}
	})
}

func forceFromElsewhere(v *virtual, k locktest.Kind) error {
	freed, err := k.Held(v.client(), "job").ForceUnlock(v.ctx)
	if err == nil && !freed {
		err = errors.New("not freed")
	}
	return err
}
