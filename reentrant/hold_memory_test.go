package reentrant_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// A hold that lasts does not keep the nested ones that were released.
func TestReleasedHoldsAreForgotten(t *testing.T) {
	_, rdb := redistest.Mini(t)
	l := newClient(t, rdb).NewLock("l")
	ctx := owner(t.Context(), "me")
	outer, err := l.Acquire(ctx)
	must(t, err)
	const nested = 20
	var collected atomic.Int32
	for range nested {
		h, err := l.Acquire(ctx)
		must(t, err)
		runtime.AddCleanup(h, func(n *atomic.Int32) { n.Add(1) }, &collected)
		must(t, h.Release(ctx))
	}
	redistest.Eventually(t, 5*time.Second, "they are collected", func() bool {
		runtime.GC()
		return collected.Load() >= nested-1 // the last may still be on the stack
	})
	must(t, outer.Release(ctx))
}
