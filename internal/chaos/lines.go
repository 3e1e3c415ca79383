package chaos

import (
	"context"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/history"
	"github.com/redlatch/redlatch/lua"
)

// lookEvery is the time between two looks at a line.
const lookEvery = 3 * time.Millisecond

// watchLine notes who is in the line of a fair lock, each waiter once.
func (r *round) watchLine(ctx context.Context, lock string) {
	keys := lua.FairKeysOf(lock, "")
	seen := make(map[string]bool) // tickets
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		called := r.log.Now()
		line, err := r.look.LRange(ctx, keys.Queue(), 0, -1).Result()
		if err != nil {
			continue // the server is struck
		}
		for _, ticket := range line {
			if seen[ticket] {
				continue
			}
			seen[ticket] = true
			field, _, _ := strings.Cut(ticket, "#")
			r.log.Add(history.Op{Kind: history.Lined, Client: history.Everyone, Lock: lock, Field: field, Outcome: history.OK, Call: called})
		}
	}
}
