package reentrant_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// The field of a lock that ReleaseAfter has left to nobody is no owner, and is not called one.
func TestTimeReleasedAfterIsNobodysInErrors(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c, d := v.client(), v.client()
		hold, err := c.NewLock("job").Acquire(v.ctx)
		must(t, err)
		must(t, hold.ReleaseAfter(v.ctx, time.Minute))
		for _, client := range []*reentrant.Client{c, d} {
			_, err := client.NewLock("job").Acquire(v.ctx, reentrant.WithWait(0))
			reads(t, err, `redlatch: lock "job" is busy: held by `+c.ID()+`:=released:\d+ \(nobody: ReleaseAfter keeps it taken\)`)
		}
		e := reentrant.WithOwner(v.ctx, "=released:1") // an owner that is called so is one
		must(t, c.NewLock("other").Lock(e))
		_, err = c.NewLock("other").Acquire(v.ctx, reentrant.WithWait(0))
		reads(t, err, `redlatch: lock "other" is busy: held by `+c.ID()+`:==released:1 \(owner "=released:1" of this Client\)`)
	})
}
