package reentrant_test

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A call whose ctx has ended asks no more: a force repeated later would take the lock from
// whoever has got it meanwhile.
func TestTimeNothingIsRepeatedForACallThatLeft(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		l := v.client().NewLock("job")
		for name, ask := range map[string]func(ctx context.Context) error{
			"ForceUnlock": func(ctx context.Context) error { _, err := l.ForceUnlock(ctx); return err },
			"IsLocked":    func(ctx context.Context) error { _, err := l.IsLocked(ctx); return err },
		} {
			v.refuseAll("LOADING Redis is loading the dataset in memory")
			v.scripts()
			ctx, cancel := context.WithTimeout(v.ctx, time.Millisecond) // the first pause is longer
			if err := ask(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
			cancel()
			v.pass(5 * time.Second)
			if n := v.scripts(); n != 1 {
				t.Errorf("%s: %d commands for a call that left after the first", name, n)
			}
			v.refuseAll("")
		}
	})
}
