package multilock_test

import (
	"regexp"
	"testing"

	"github.com/redlatch/redlatch/reentrant"
)

// An owner of a MultiLock has no Client: its errors say in words who it is.
func TestErrNotHeldTexts(t *testing.T) {
	inVirtualTime(t, 2, func(t *testing.T, v *virtual) {
		l := v.process(0, 1).all(t, name)
		reads := func(err error, want string) {
			t.Helper()
			if err == nil || !regexp.MustCompile("^"+want+"$").MatchString(err.Error()) {
				t.Errorf("error is\n%v\nwant\n%s", err, want)
			}
		}
		reads(l.Unlock(t.Context()), `redlatch: lock "`+name+`" is not held by goroutine \d+`)
		named := reentrant.WithOwner(t.Context(), "42")
		reads(l.Unlock(named), `redlatch: lock "`+name+`" is not held by owner "42"`)
		hold, err := l.Acquire(t.Context())
		must(t, err)
		reads(l.Unlock(t.Context()), `redlatch: lock "`+name+`" is held by goroutine \d+ with Acquire or Do, .*`)
		must(t, hold.Release(t.Context()))
	})
}
