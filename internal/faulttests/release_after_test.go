package faulttests

import (
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
)

// The reply is lost, the script runs twice, or comes when the lock is somebody's again.
func TestFaultReleaseAfter(t *testing.T) {
	for what, action := range map[string]faultproxy.Action{"reply lost": faultproxy.DropAfter, "twice": faultproxy.Duplicate} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := newFaultRig(t).warm(t)
			l := faultClient(t, r.through(t)).NewLock("l")
			me := owner(t.Context(), "me")
			hold, err := l.Acquire(me)
			must(t, err)
			rule := r.proxy.Add(faultproxy.Rule{Match: scriptIs("linger"), Times: 1, Action: action})
			must(t, hold.ReleaseAfter(me, time.Minute))
			if rule.Hits() != 1 {
				t.Errorf("%d hits", rule.Hits())
			}
			fields := r.held(t, "l")
			for field, count := range fields {
				if !strings.Contains(field, ":=released:") || count != "1" || len(fields) != 1 {
					t.Errorf("Redis has %v", fields)
				}
			}
			if ok, err := l.TryLock(me, 0, 0); ok || err != nil {
				t.Errorf("TryLock: %v, %v", ok, err)
			}
			freed, err := l.ForceUnlock(me)
			if !freed || err != nil {
				t.Errorf("ForceUnlock: %v, %v", freed, err)
			}
		})
	}
}
