package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/oracle"
)

// maxConnections is how many a member may have besides its pool: the subscription, one
// that takes its place, and one that the server has not yet seen to be gone.
const maxConnections = 3

// tidy waits until nothing is left of the round, and finds what is left all the same.
func (r *round) tidy() (found []oracle.Violation) {
	ctx, cancel := context.WithTimeout(context.Background(), hungAfter)
	defer cancel()
	for _, m := range r.members {
		if err := m.bury(ctx); err != nil {
			found = append(found, oracle.Violation{Oracle: "close", Text: fmt.Sprintf("client %d, closed long ago: %v", m.n, err)})
		}
	}
	return append(found, eventually(ctx, func() (found []oracle.Violation, err error) {
		found = append(found, r.inUse()...)
		keys, err := oracle.Keys(ctx, r.look, namesOf(r.targets)...)
		if err != nil {
			return nil, err
		}
		channels, err := oracle.Channels(ctx, r.look)
		if err != nil {
			return nil, err
		}
		found = append(append(found, keys...), channels...)
		for _, m := range r.members {
			conns, err := oracle.Connections(ctx, r.look, m.name, m.rdb.Options().PoolSize+maxConnections)
			if err != nil {
				return nil, err
			}
			found = append(found, conns...)
		}
		return found, nil
	})...)
}

// inUse finds what the Clients themselves count.
func (r *round) inUse() (found []oracle.Violation) {
	for _, m := range r.members {
		c, _ := m.current()
		if s := c.Stats(); s.Held+s.Waiting+s.Subscriptions > 0 {
			found = append(found, oracle.Violation{Oracle: "stats", Text: fmt.Sprintf("client %d, which nobody uses: held %d, waiting %d, subscriptions %d",
				m.n, s.Held, s.Waiting, s.Subscriptions)})
		}
	}
	return found
}

// eventually repeats an inspection until it finds nothing, and returns what it found last
// if ctx ends first.
func eventually(ctx context.Context, inspect func() ([]oracle.Violation, error)) []oracle.Violation {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	last := []oracle.Violation{{Oracle: "tidy", Text: "nothing could be inspected"}}
	for {
		found, err := inspect()
		if err == nil {
			last = found
		}
		if err == nil && len(found) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return last
		}
	}
}

// closeAll ends the members, and finds what outlives them: goroutines of the library, and
// connections.
func (a *arena) closeAll() (found []oracle.Violation) {
	ctx, cancel := context.WithTimeout(context.Background(), hungAfter)
	defer cancel()
	for _, m := range a.members {
		c, _ := m.current()
		if err := c.Close(ctx); err != nil {
			found = append(found, oracle.Violation{Oracle: "close", Text: fmt.Sprintf("client %d: %v", m.n, err)})
		}
		m.rdb.Close()
	}
	if err := a.operator.Close(ctx); err != nil {
		found = append(found, oracle.Violation{Oracle: "close", Text: "operator: " + err.Error()})
	}
	const module = "github.com/redlatch/redlatch/"
	return append(found, eventually(ctx, func() ([]oracle.Violation, error) {
		found := oracle.Goroutines(0, module+"reentrant", module+"watchdog", module+"pubsub", module+"lua")
		for _, m := range a.members {
			conns, err := oracle.Connections(ctx, a.look, m.name, 0)
			if err != nil {
				return nil, err
			}
			found = append(found, conns...)
		}
		return found, nil
	})...)
}
