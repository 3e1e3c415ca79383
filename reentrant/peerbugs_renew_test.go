package reentrant_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// One renewal that fails ends the watch, and nobody is told.
func TestLedger_12_OneFailedRenewal(t *testing.T) {
	for _, text := range []string{loading, "ERR something odd", "READONLY You can't write against a read only replica."} {
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			c := v.client()
			h, err := c.NewLock("job").Acquire(v.ctx)
			must(t, err)
			failed := 0
			v.onCommand(func(cmd string, _ []string) string {
				if cmd == "EVALSHA" && failed == 0 {
					failed++
					return text
				}
				return ""
			})
			v.pass(10 * lease)
			if failed != 1 || ended(h.Lost()) || v.ttl("job") < lease/2 {
				t.Fatalf("%q once: %v left, stats %+v", text, v.ttl("job"), c.Stats())
			}
			must(t, h.Release(v.ctx))
		})
	}
}

// The renewal checks that the key exists and extends whoever has it.
func TestLedger_13_RenewalChecksTheOwner(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		first := v.client()
		must(t, first.NewLock("job").Lock(v.ctx))
		v.mini.Del("job")
		// The same Client, another owner: the client's id alone is not the owner.
		v.mini.HSet("job", first.ID()+":somebody else", "1")
		v.mini.SetTTL("job", lease)
		v.pass(lease)
		if v.mini.Exists("job") {
			t.Fatal("the renewal of one owner extended the lock of another")
		}
		if first.Stats().Losses != 1 {
			t.Fatalf("stats %+v", first.Stats())
		}
	})
}

// Each nested lock starts another renewal, and the end of the hold stops the last one.
func TestLedger_19_NestedHoldsAreRenewedOnce(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		l := c.NewLock("job")
		must(t, l.Lock(v.ctx))
		v.pass(lease / 3)
		for range 100 {
			must(t, l.Lock(v.ctx))
		}
		if n := ourGoroutines(); n != 1 {
			t.Fatalf("%d goroutines for 100 nested holds, want the watchdog's", n)
		}
		renewals := c.Stats().Renewals
		v.scripts()
		v.pass(lease)
		if n := c.Stats().Renewals - renewals; n < 2 || n > 4 || v.scripts() != int(n) {
			t.Fatalf("%d renewals of one lock in a lease, want 3", n)
		}
		for range 101 {
			must(t, l.Unlock(v.ctx))
		}
		v.scripts()
		v.pass(time.Minute)
		if n := v.scripts(); n != 0 || v.mini.Exists("job") {
			t.Fatalf("%d scripts after the last Unlock", n)
		}
	})
}

// The watchdog gives up after a number of rounds.
func TestLedger_22_RenewalHasNoLastRound(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		l := c.NewLock("job")
		must(t, l.Lock(v.ctx))
		v.pass(50 * lease)
		if n := c.Stats().Renewals; n < 149 || v.ttl("job") < lease/2 {
			t.Fatalf("%d renewals, %v left", n, v.ttl("job"))
		}
		must(t, l.Unlock(v.ctx))
	})
}

// The function that extends calls the one that unlocks; or it runs once and never
// again.
func TestLedger_23_RenewalChangesOnlyTheTTL(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		l := c.NewLock("job", reentrant.WithFencing())
		for range 3 {
			must(t, l.Lock(v.ctx))
		}
		state := func() string { return fmt.Sprint(v.fields("job"), v.mini.Keys()) }
		before := state()
		for i := range 30 {
			v.pass(lease / 3)
			if now := state(); now != before {
				t.Fatalf("after %d thirds of the lease: %s, was %s", i+1, now, before)
			}
			if v.ttl("job") < lease*9/10 {
				t.Fatalf("%v left after %d thirds of the lease", v.ttl("job"), i+1)
			}
		}
	})
}
