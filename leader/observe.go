package leader

import (
	"context"
	"iter"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// Observe yields who leads: now, and then at each change. It asks Redis once in every, which is at least 10 ms, so a term
// shorter than that may be left out. The Party is the zero value while nobody leads. An error of Redis is yielded too, and
// Observe goes on. It ends with ctx, or when the loop does.
func (e *Election) Observe(ctx context.Context, every time.Duration) iter.Seq2[reentrant.Party, error] {
	return func(yield func(reentrant.Party, error) bool) {
		tick := time.NewTicker(max(every, 10*time.Millisecond))
		defer tick.Stop()
		var before reentrant.Party
		for first := true; ctx.Err() == nil; {
			now, ok, err := e.Leader(ctx)
			if !ok {
				now = reentrant.Party{}
			}
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				if !yield(reentrant.Party{}, err) {
					return
				}
			case first || now != before:
				if !yield(now, nil) {
					return
				}
				first, before = false, now
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}
}
