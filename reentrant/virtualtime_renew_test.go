package reentrant_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// The key must be there at every instant of a hold, not just at its end: a renewal
// that comes late makes a gap in which somebody else gets the lock.
func TestTimeHoldOutlivesItsLease(t *testing.T) {
	for _, test := range []struct{ lease, held, look time.Duration }{
		{time.Second, 10 * time.Second, 50 * time.Millisecond},
		{10 * time.Second, time.Hour, time.Second},
	} {
		t.Run(test.held.String(), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				c := v.client(reentrant.WithLease(test.lease))
				l := c.NewLock("job")
				must(t, l.Lock(v.ctx))
				least := test.lease
				for began := time.Now(); time.Since(began) < test.held; {
					time.Sleep(test.look)
					least = min(least, v.ttl("job"))
				}
				if least < test.lease*2/3-time.Millisecond { // Redis counts whole milliseconds
					t.Fatalf("%v were left at the least, want two thirds of %v", least, test.lease)
				}
				thirds := uint64(test.held / (test.lease / 3))
				if got := c.Stats().Renewals; got < thirds-1 || got > thirds+1 {
					t.Fatalf("%d renewals in %v, want one each third of the lease: %d", got, test.held, thirds)
				}
				must(t, l.Unlock(v.ctx))
				if v.mini.Exists("job") {
					t.Fatal("still there after Unlock")
				}
			})
		})
	}
}

// A renewal after the end would extend the lock of whoever has it by then.
func TestTimeRenewalEndsWithTheHold(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		l := c.NewLock("job")
		must(t, l.Lock(v.ctx))
		v.pass(5 * lease)
		must(t, l.Unlock(v.ctx))
		renewals := c.Stats().Renewals
		v.scripts()
		v.pass(time.Minute)
		if got := c.Stats().Renewals; got != renewals {
			t.Fatalf("%d renewals after Unlock", got-renewals)
		}
		if n := v.scripts(); n != 0 {
			t.Fatalf("%d scripts sent in a minute with nothing held", n)
		}
	})
}

// A hold begun between two renewals of others joins their batch, and must not have
// to wait for its own third to pass twice.
func TestTimeHoldsOfDifferentAgeAreAllRenewed(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		names := []string{"a", "b", "c", "d", "e", "f", "g"}
		for _, name := range names {
			must(t, c.NewLock(name).Lock(v.ctx))
			time.Sleep(47 * time.Millisecond)
		}
		for began := time.Now(); time.Since(began) < 10*lease; time.Sleep(10 * time.Millisecond) {
			for _, name := range names {
				if v.ttl(name) < lease/2 {
					t.Fatalf("%s has %v left", name, v.ttl(name))
				}
			}
		}
		if c.Stats().Losses != 0 {
			t.Fatalf("stats %+v", c.Stats())
		}
	})
}
