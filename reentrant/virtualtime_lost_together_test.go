package reentrant_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// A Client loses all its locks at once, while Redis refuses everything. What it has to clean up
// does not cost a goroutine for each.
func TestFault67AllLocksLostTogether(t *testing.T) {
	const locks = 3000
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		ctx := reentrant.WithOwner(v.ctx, "o")
		for i := range locks {
			must(t, c.NewLock(fmt.Sprint("lock:", i)).Lock(ctx))
		}
		v.pass(10 * time.Millisecond)
		before := runtime.NumGoroutine()
		v.refuseAll("LOADING Redis is loading")
		most := 0
		for range 30 {
			v.pass(lease / 20)
			most = max(most, runtime.NumGoroutine()-before)
		}
		if n := c.Stats().Losses; n != locks {
			t.Fatalf("%d lost, want %d", n, locks)
		}
		if most > 100 {
			t.Errorf("%d goroutines for the loss of %d locks", most, locks)
		}
	})
}
