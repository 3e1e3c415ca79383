package faulttests

import (
	"testing"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
)

// The reply to a ForceUnlock is lost and the second try finds the lock free: the holder in
// this Client is told all the same, at once and not at its next renewal.
func TestFaultForceUnlockReplyLost(t *testing.T) {
	t.Parallel()
	r := newFaultRig(t).warm(t)
	l := faultClient(t, r.through(t)).NewLock("l")
	hold, err := l.Acquire(owner(t.Context(), "me"))
	must(t, err)
	lost := r.proxy.Add(faultproxy.Rule{Match: scriptIs("force"), Times: 1, Action: faultproxy.DropAfter})
	_, err = l.ForceUnlock(t.Context())
	must(t, err)
	if lost.Hits() != 1 || !ended(hold.Lost()) {
		t.Errorf("%d replies lost; the holder has not been told", lost.Hits())
	}
	locktest.FreeWithin(t, r.Server, 0, "l")
}
