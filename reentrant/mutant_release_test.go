package reentrant_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redlatch/redlatch/reentrant"
)

// A caller whose ctx has ended still gets its lock released, and a grant that it did not
// wait for given back, by the first command and not only by the clean-up that follows
// when that could not be sent. Package mutants sends them with the caller's ctx.
func TestMutantReleaseOutlivesCtx(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client().NewLock("job")
		must(t, l.Lock(reentrant.WithOwner(v.ctx, "me")))
		over, cancel := context.WithCancel(reentrant.WithOwner(v.ctx, "me"))
		cancel()
		must(t, l.Unlock(over))
		if v.mini.Exists("job") {
			t.Error("Unlock with a ctx that had ended sent nothing")
		}
	})
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client()
		must(t, c.NewLock("other").Lock(v.ctx)) // Redis knows the scripts
		must(t, c.NewLock("other").Unlock(v.ctx))
		under := make(chan struct{})
		v.onCommand(func(cmd string, _ []string) string {
			if cmd == "EVALSHA" {
				<-under
			}
			return ""
		})
		ctx, cancel := context.WithCancel(v.ctx)
		call := begin(func() error { return c.NewLock("job").Lock(ctx) })
		v.pass(0)
		cancel()
		if err := call.wait(); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		close(under)
		v.pass(0)
		if v.mini.Exists("job") {
			t.Error("a grant that came after its call had left was not given back at once")
		}
	})
}
