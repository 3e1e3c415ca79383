package reentrant_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// endsAtOnce is a ctx that ends right after its call has looked at it for the first time.
type endsAtOnce struct {
	context.Context
	done  chan struct{}
	asked *atomic.Bool
}

func (c endsAtOnce) Done() <-chan struct{} { return c.done }

func (c endsAtOnce) Err() error {
	if c.asked.Swap(true) {
		return context.Canceled
	}
	return nil
}

// unheard is a ctx that has ended, which its call finds out by looking and not by waiting.
type unheard struct {
	context.Context
	asked *atomic.Bool
}

func (c unheard) Done() <-chan struct{} { return make(chan struct{}) }

func (c unheard) Err() error {
	if c.asked.Swap(true) {
		return c.Context.Err()
	}
	return nil
}

// Whichever way it is found that the ctx has ended, the error tells why.
func TestTimeCauseOfACallThatIsNotSent(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client().NewLock("job")
		ctx, cancel := context.WithCancelCause(v.ctx)
		cancel(errShutdown)
		_, err := l.IsLocked(unheard{ctx, new(atomic.Bool)})
		wants(t, err, context.Canceled, errShutdown)
		_, err = l.ForceUnlock(unheard{ctx, new(atomic.Bool)})
		wants(t, err, context.Canceled, errShutdown)
	})
}

// The goroutine that carries a force begins when its caller has left, and has got the lock.
func TestTimeForceBeginsWhenItsCallerHasLeft(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that it begins when this goroutine waits
		l := v.client().NewLock("job")
		_, err := l.ForceUnlock(v.ctx)
		must(t, err)
		v.pass(2 * time.Second) // in which the goroutines end that were kept for the next call
		ctx := endsAtOnce{v.ctx, make(chan struct{}), new(atomic.Bool)}
		close(ctx.done)
		if _, err = l.ForceUnlock(ctx); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		hold, err := l.Acquire(context.WithoutCancel(asHolder(t)))
		must(t, err)
		v.pass(lease / 10)
		if v.fields("job") == nil || ended(hold.Lost()) {
			t.Error("the lock that was granted since has been freed")
		}
		must(t, hold.Release(v.ctx))
	})
}

// A force is answered when its caller has left. The holder that it has robbed is told all the same,
// before another Client can have the lock.
func TestTimeForceWhoseCallerLeft(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client().NewLock("job")
		_, err := l.ForceUnlock(v.ctx) // the script is known from now on
		must(t, err)
		hold, err := l.Acquire(asHolder(t))
		must(t, err)
		v.onCommand(func(cmd string, _ []string) string {
			if cmd == "EVALSHA" {
				time.Sleep(lease / 20)
			}
			return ""
		})
		short, cancel := context.WithTimeout(v.ctx, lease/100)
		defer cancel()
		if _, err := l.ForceUnlock(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		v.onCommand(nil)
		v.pass(lease / 10)
		if v.fields("job") != nil || !ended(hold.Lost()) {
			t.Errorf("Redis has %v; the holder was told: %v", v.fields("job"), ended(hold.Lost()))
		}
	})
}
