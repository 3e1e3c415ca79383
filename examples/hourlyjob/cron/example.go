package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/examples/hourlyjob/hourly"
	"github.com/redlatch/redlatch/examples/internal/demo"
	"github.com/redlatch/redlatch/reentrant"
)

// noon is when the example begins.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// example is the two nodes.
type example struct {
	rdb     *demo.Redis
	log     *demo.Log
	name    string // of the job
	start   time.Time
	clients []*reentrant.Client
	events  chan event
	seen    map[time.Time]map[hourly.Outcome]int
}

// event is what came of one tick.
type event struct {
	node    string
	hour    time.Time
	outcome hourly.Outcome
	err     error
}

// now is a clock on which a second is an hour.
func (e *example) now() time.Time { return noon.Add(3600 * time.Since(e.start)) }

// work takes a quarter of an hour on that clock.
func (e *example) work(ctx context.Context, _ hourly.Attempt) error {
	return demo.Sleep(ctx, 250*time.Millisecond)
}

// follow tells what came of each tick, until both nodes are through with so many hours. It
// fails if an hour was done twice.
func (e *example) follow(ctx context.Context) error {
	e.seen = make(map[time.Time]map[hourly.Outcome]int)
	for complete := 0; complete < hours; {
		var v event
		select {
		case v = <-e.events:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if v.err != nil {
			return fmt.Errorf("%s: %v: %w", v.node, v.outcome, v.err)
		}
		e.log.Line(v.node, v.outcome.String(), "the job of %s", v.hour.Format("15:04"))
		outcomes := e.seen[v.hour]
		if outcomes == nil {
			outcomes = make(map[hourly.Outcome]int)
			e.seen[v.hour] = outcomes
		}
		outcomes[v.outcome]++
		if outcomes[hourly.Ran] > 1 {
			return fmt.Errorf("the job of %s ran twice", v.hour.Format("15:04"))
		}
		if outcomes[hourly.Ran] == 1 && outcomes[hourly.Done] == 1 {
			complete++
		}
	}
	return nil
}

// cleanUp removes what the example has left in Redis. A program leaves it there: it says
// what was done.
func (e *example) cleanUp(ctx context.Context) error {
	var errs []error
	for _, client := range e.clients {
		errs = append(errs, e.rdb.Leave(ctx, client, "hourly:{"+e.name+"}:lock"))
	}
	// The last tick may have begun an hour of which nobody has told.
	for hour := noon; !hour.After(hourly.Of(e.now())); hour = hour.Add(time.Hour) {
		key := "hourly:{" + e.name + "}:" + hour.Format("2006-01-02T15")
		errs = append(errs, e.rdb.Del(context.WithoutCancel(ctx), key+":done", key+":attempts").Err())
	}
	return errors.Join(errs...)
}
