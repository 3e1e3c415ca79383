package reentrant_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

var errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}

// unreachable makes a Client whose Redis refuses every connection.
func (v *virtual) unreachable() *reentrant.Client {
	return newClient(v.t, redistest.MiniClient(v.t, v.mini, func(o *redis.Options) {
		o.Dialer = func(context.Context, string, string) (net.Conn, error) { return nil, errRefused }
	}))
}

// An error of Redis is taken for success: everybody has the lock.
func TestLedger_05_UnreachableIsNotAcquired(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.unreachable().NewLock("job")
		ok, err := l.TryLock(v.ctx, 0, 0)
		if ok || !errors.Is(err, reentrant.ErrNotAcquired) {
			t.Fatalf("TryLock = %v, %v", ok, err)
		}
		if h, err := l.Acquire(v.ctx); h != nil || !errors.Is(err, reentrant.ErrNotAcquired) {
			t.Fatalf("Acquire = %v, %v", h, err)
		}
		for name, ask := range map[string]func(context.Context) (bool, error){
			"IsHeld": l.IsHeld, "IsLocked": l.IsLocked, "ForceUnlock": l.ForceUnlock,
		} {
			if yes, err := ask(v.ctx); yes || err == nil {
				t.Errorf("%s = %v, %v", name, yes, err)
			}
		}
		if err := l.Unlock(v.ctx); !errors.Is(err, reentrant.ErrNotHeld) {
			t.Fatalf("Unlock: %v", err)
		}
	})
}

// Lock is an attempt, and returns at once when the lock is held.
func TestLedger_06_LockWaits(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		holder := v.client().NewLock("job")
		must(t, holder.Lock(v.ctx))
		waiter := begin(func() error { return v.client().NewLock("job").Lock(v.ctx) })
		v.pass(10 * lease)
		if waiter.over() {
			t.Fatalf("Lock returned %v while the lock was held", waiter.err)
		}
		must(t, holder.Unlock(v.ctx))
		must(t, waiter.wait())
	})
}

// The lock is released between the first attempt and the subscription, and the
// waiter waits for a message that was sent before it listened.
func TestLedger_09_ReleasedBeforeTheSubscription(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		holder := v.client(reentrant.WithLease(time.Hour)).NewLock("job")
		owned := reentrant.WithOwner(v.ctx, "holder")
		must(t, holder.Lock(owned))
		released := false
		v.onCommand(func(cmd string, _ []string) string {
			if cmd == "SUBSCRIBE" && !released {
				released = true
				must(t, holder.Unlock(owned))
			}
			return ""
		})
		began := time.Now()
		must(t, v.client().NewLock("job").Lock(v.ctx))
		if !released || time.Since(began) > 5*time.Millisecond {
			t.Fatalf("released %v, acquired after %v", released, time.Since(began))
		}
	})
}

// The release is published on one channel and waited for on another: nobody is woken
// before the lease ends.
func TestLedger_15_TheMessageArrives(t *testing.T) {
	for _, name := range []string{"job", "order:{42}", "Ünïcode ⏰"} {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			prefix := reentrant.WithPrefix("shop:")
			holder := v.client(prefix, reentrant.WithLease(time.Hour)).NewLock(name)
			must(t, holder.Lock(v.ctx))
			c := v.client(prefix)
			waiter := begin(func() error { return c.NewLock(name).Lock(v.ctx) })
			v.pass(time.Minute)
			must(t, holder.Unlock(v.ctx))
			released := time.Now()
			must(t, waiter.wait())
			if late := waiter.at.Sub(released); late > 5*time.Millisecond || c.Stats().WakeUps.Message == 0 {
				t.Fatalf("%q: %v after the release, %+v", name, late, c.Stats().WakeUps)
			}
		})
	}
}

// Waiters that arrive within one second get the lock in the order of their ids.
func TestLedger_20_FirstComeFirstServed(t *testing.T) {
	for _, processes := range []int{1, 8} {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			var clients []*reentrant.Client
			for range processes {
				clients = append(clients, v.client())
			}
			holder := v.client().NewLock("job")
			must(t, holder.Lock(v.ctx))
			var got, want []int
			var waiters []*pending
			for i := range 8 {
				want = append(want, i)
				l := clients[i%processes].NewLock("job")
				waiters = append(waiters, begin(func() error {
					if err := l.Lock(v.ctx); err != nil {
						return err
					}
					got = append(got, i) // the lock guards it
					return l.Unlock(v.ctx)
				}))
				v.pass(time.Millisecond)
			}
			v.pass(time.Second)
			must(t, holder.Unlock(v.ctx))
			for _, w := range waiters {
				must(t, w.wait())
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%d clients: served in the order %v", processes, got)
			}
		})
	}
}

// The holder's TTL ends within the wait, and the waiter reports a failure instead of
// trying.
func TestLedger_21_TheHoldersTTLIsNotTheEndOfTheWait(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		must(t, v.client().NewLock("job").LockLease(v.ctx, 2*time.Second))
		began := time.Now()
		ok, err := v.client().NewLock("job").TryLock(v.ctx, 10*time.Second, 0)
		if !ok || err != nil || time.Since(began) > 2*time.Second+5*time.Millisecond {
			t.Fatalf("TryLock = %v, %v after %v", ok, err, time.Since(began))
		}
		// Now the TTL that the waiter saw passes again and again, and is renewed.
		began = time.Now()
		ok, err = v.client().NewLock("job").TryLock(v.ctx, 10*time.Second, 0)
		if ok || err != nil || time.Since(began) != 10*time.Second {
			t.Fatalf("TryLock = %v, %v after %v", ok, err, time.Since(began))
		}
	})
}

// While a waiter waits it polls every few milliseconds.
func TestLedger_25_WaitingIsNotPolling(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		v.mini.HSet("job", "somebody:1", "1")
		v.mini.SetTTL("job", time.Hour)
		waiter := begin(func() error { return v.client().NewLock("job").Lock(v.ctx) })
		v.pass(time.Minute)
		if n := v.scripts(); n < 60/6 || n > 60/4+8 { // two to begin with, then 1, 2, 4, 5, 5 ... seconds apart
			t.Fatalf("%d attempts in a minute", n)
		}
		v.mini.Del("job")
		must(t, waiter.wait())
	})
}

// "Could not get the lock" is all that is said, whether it is held or Redis is down.
func TestLedger_26_TheCauseIsKept(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		_, err := v.unreachable().NewLock("job").Acquire(v.ctx, reentrant.WithWait(0))
		var dial *net.OpError
		if !errors.Is(err, reentrant.ErrNotAcquired) || !errors.As(err, &dial) {
			t.Errorf("unreachable: %v", err)
		}

		l := v.client().NewLock("job")
		v.refuseAll("NOAUTH Authentication required.")
		_, err = l.Acquire(v.ctx, reentrant.WithWait(0))
		if !errors.Is(err, reentrant.ErrNotAcquired) || !strings.Contains(err.Error(), "NOAUTH") {
			t.Errorf("refused: %v", err)
		}
		v.refuseAll("")

		must(t, v.client().NewLock("job").Lock(v.ctx))
		_, err = l.Acquire(v.ctx, reentrant.WithWait(0))
		var busy *reentrant.NotAcquiredError
		if !errors.As(err, &busy) || busy.Err != nil || busy.Holder == "" || busy.TTL <= 0 {
			t.Errorf("busy: %#v", err)
		}
		synctest.Wait()
	})
}
