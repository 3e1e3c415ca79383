package reentrant_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/reentrant"
)

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
