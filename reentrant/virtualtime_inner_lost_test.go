package reentrant_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// The lock is lost while the release of an inner hold is under way: that release, with which Do
// ends, has to tell it, whatever became of its own command.
func TestTimeInnerReleaseFindsTheLoss(t *testing.T) {
	for name, trouble := range map[string]func(v *virtual, outer *reentrant.Hold){
		"deleted, and refused until the renewal has found it": func(v *virtual, _ *reentrant.Hold) {
			time.Sleep(lease/3 - 2*time.Millisecond) // just before the renewal
			v.mini.Del("job")
			tries := 0
			v.onScript("2", "epoch", func() string {
				if tries++; tries == 1 {
					return loading
				}
				return ""
			})
		},
		"deleted, and refused": func(v *virtual, _ *reentrant.Hold) {
			time.Sleep(lease/3 - 2*time.Millisecond)
			v.mini.Del("job")
			v.onScript("2", "epoch", func() string { return loading })
		},
		"refused beyond the end of the lease": func(v *virtual, outer *reentrant.Hold) {
			v.refuseAll(loading)
			time.Sleep(time.Until(outer.ValidUntil()) - 4*time.Millisecond)
		},
		"silent beyond the end of the lease": func(v *virtual, _ *reentrant.Hold) { v.scriptsTake(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				l := v.client().NewLock("job")
				outer, err := l.Acquire(asHolder(t))
				must(t, err)
				wants(t, l.Do(outer.Context(), func(context.Context) error { trouble(v, outer); return nil }), reentrant.ErrLost)
				if !ended(outer.Lost()) {
					t.Error("the outer hold is not told")
				}
			})
		})
	}
}
