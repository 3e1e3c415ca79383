package reentrant_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

const loading = "LOADING Redis is loading the dataset in memory"

// Renewal begins with two thirds of the lease left, so an outage that is shorter
// costs nothing, whenever it begins.
func TestTimeShortOutageLosesNothing(t *testing.T) {
	const lease, outage = 3 * time.Second, 1900 * time.Millisecond
	for _, age := range []time.Duration{0, time.Millisecond, 500 * time.Millisecond, 999 * time.Millisecond, 1001 * time.Millisecond} {
		t.Run(fmt.Sprint("begins at ", age), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				c := v.client(reentrant.WithLease(lease))
				h, err := c.NewLock("job").Acquire(v.ctx)
				must(t, err)
				for range 5 {
					v.pass(age)
					v.refuseAll(loading)
					v.pass(outage)
					v.refuseAll("")
					v.pass(lease/3 + 2*time.Millisecond)
				}
				if ended(h.Lost()) || c.Stats().Losses != 0 {
					t.Fatal("lost in an outage of less than two thirds of the lease")
				}
				if c.Stats().RenewFailures == 0 {
					t.Fatal("there was no outage")
				}
				must(t, h.Release(v.ctx))
			})
		})
	}
}

// An outage as long as the lease: nobody can tell the holder, so its own clock must,
// at ValidUntil, which nothing but a confirmed renewal moves.
func TestTimeLongOutageIsLostAtValidUntil(t *testing.T) {
	for _, age := range []time.Duration{0, 200 * time.Millisecond, 5 * lease} {
		t.Run(fmt.Sprint("begins at ", age), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				c := v.client()
				l := c.NewLock("job")
				h, err := l.Acquire(v.ctx)
				must(t, err)
				v.pass(age)
				v.refuseAll(loading)
				valid, renewals := h.ValidUntil(), c.Stats().Renewals
				for time.Now().Before(valid) {
					if ended(h.Lost()) {
						t.Fatalf("lost %v early", time.Until(valid))
					}
					if !h.ValidUntil().Equal(valid) {
						t.Fatal("ValidUntil moved without a confirmation")
					}
					time.Sleep(min(10*time.Millisecond, time.Until(valid)))
				}
				synctest.Wait()
				if !ended(h.Lost()) {
					t.Fatal("not lost at ValidUntil")
				}
				var why *reentrant.LostError
				if !errors.As(context.Cause(h.Context()), &why) || why.Reason != reentrant.LeaseEnded {
					t.Fatalf("lost because of %v", context.Cause(h.Context()))
				}
				if s := c.Stats(); s.Renewals != renewals || s.RenewFailures == 0 || s.Losses != 1 {
					t.Fatalf("stats %+v", s)
				}
				v.refuseAll("")
				if err := l.Unlock(v.ctx); !errors.Is(err, reentrant.ErrLost) {
					t.Fatalf("Unlock: %v", err)
				}
				v.pass(2 * lease)
				if v.mini.Exists("job") {
					t.Fatal("the lost lock stays in Redis")
				}
			})
		})
	}
}

// ValidUntil follows what Redis confirmed: a lease from before the command was sent.
func TestTimeValidUntilMovesWithRenewals(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		var last time.Time
		c := v.client(reentrant.WithEvents(reentrant.Events{
			Renewed: func(e reentrant.Event) {
				if want := time.Now().Add(trusted(lease)); !e.ValidUntil.Equal(want) {
					t.Errorf("renewed until %v, want %v", e.ValidUntil, want)
				}
				last = e.ValidUntil
			},
		}))
		h, err := c.NewLock("job").Acquire(v.ctx)
		must(t, err)
		last = h.ValidUntil()
		for range 100 {
			v.pass(50 * time.Millisecond)
			if got := h.ValidUntil(); !got.Equal(last) {
				t.Fatalf("valid until %v, the last renewal said %v", got, last)
			}
			if v.ttl("job") < time.Until(h.ValidUntil()) {
				t.Fatal("trusted for longer than Redis keeps it")
			}
		}
		must(t, h.Release(v.ctx))
	})
}

// A slow answer must not make up time: validity counts from before the question.
func TestTimeValidityCountsFromTheQuestion(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		const slow = 100 * time.Millisecond
		v.onCommand(func(cmd string, _ []string) string {
			if cmd == "EVALSHA" || cmd == "EVAL" {
				time.Sleep(slow / 2) // on its way there, or back: nobody can tell
			}
			return ""
		})
		c := v.client()
		began := time.Now()
		h, err := c.NewLock("job").Acquire(v.ctx)
		must(t, err)
		if time.Since(began) < slow/2 {
			t.Fatal("the answer was not slow")
		}
		if got := h.ValidUntil().Sub(began); got != trusted(lease) {
			t.Fatalf("valid for %v from the question, want %v", got, trusted(lease))
		}
		v.pass(10 * lease)
		if ended(h.Lost()) {
			t.Fatal("a slow Redis lost the lock")
		}
		must(t, h.Release(v.ctx))
	})
}

// An answer that comes after the lease is worth nothing: the key may be another's.
func TestTimeGrantThatCameTooLateIsGivenBack(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		must(t, v.client().NewLock("warm").Lock(v.ctx)) // the server knows the script
		const lease = 400 * time.Millisecond            // less than wait 0 takes
		c := v.client(reentrant.WithLease(lease))
		v.onCommand(func(cmd string, args []string) string {
			if cmd == "EVALSHA" && len(args) > 2 && args[2] == "job" {
				time.Sleep(lease - 5*time.Millisecond)
			}
			return ""
		})
		ok, err := c.NewLock("job").TryLock(v.ctx, 0, 0)
		if ok || !errors.Is(err, reentrant.ErrNotAcquired) {
			t.Fatalf("TryLock = %v, %v, want ErrNotAcquired", ok, err)
		}
		v.pass(2 * lease)
		if v.mini.Exists("job") || c.Stats().Held != 0 {
			t.Fatalf("still held: %v, %+v", v.fields("job"), c.Stats())
		}
	})
}
