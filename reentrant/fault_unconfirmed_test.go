package reentrant_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/reentrant"
)

// A nested Lock with a long lease is under way when the lock is released, and Redis answers
// neither: FreeAfter reckons with the lease that the first has asked for.
func TestFaultFreeAfterWithReentryUnderWay(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t).warm(t)
	l := faultClient(t, r.through(t)).NewLock("l")
	me := owner(t.Context(), "me")
	okay(t, l.Lock(me))
	r.proxy.Blackhole(false, true, faultproxy.Any)
	defer r.proxy.Heal()
	brief := func() context.Context {
		ctx, cancel := context.WithTimeout(me, 200*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	wants(t, l.LockLease(brief(), time.Hour), reentrant.ErrNotAcquired)
	var unconfirmed *reentrant.UnconfirmedError
	if err := l.Unlock(brief()); !errors.As(err, &unconfirmed) {
		t.Fatalf("Unlock: %v", err)
	}
	if ttl := time.Duration(r.Do(t, "PTTL", "l").(int64)) * time.Millisecond; ttl > unconfirmed.FreeAfter {
		t.Errorf("free after %v, but the key lives for %v", unconfirmed.FreeAfter, ttl)
	}
}

// An inner Unlock that Redis refuses: the outer hold goes on, and the error does not speak
// of a time when the lock is free.
func TestTimeInnerUnlockUnconfirmed(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client().NewLock("l")
		must(t, l.Lock(asHolder(t)))
		must(t, l.Lock(asHolder(t)))
		v.refuseAll("OOM command not allowed when used memory > 'maxmemory'.")
		var unconfirmed *reentrant.UnconfirmedError
		if err := l.Unlock(asHolder(t)); !errors.As(err, &unconfirmed) || unconfirmed.FreeAfter != 0 || strings.Contains(err.Error(), "free in") {
			t.Errorf("Unlock: %v", err)
		}
		v.refuseAll("")
		v.pass(2 * lease)
		if held, err := l.IsHeld(asHolder(t)); !held || err != nil {
			t.Errorf("the outer hold: %v, %v", held, err)
		}
		must(t, l.Unlock(asHolder(t)))
	})
}
