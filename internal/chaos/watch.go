package chaos

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/history"
)

const (
	// starvedAfter is how late a tick may be in a process that runs as it should.
	starvedAfter = 25 * time.Millisecond

	// slowAfter is the silence of a server that is not struck, as this process sees it, from
	// which on the machine is too busy for renewals to be in time.
	slowAfter = 50 * time.Millisecond
)

// watch notes when the server does not answer in time, struck or not: on a machine that
// is too busy, renewals fail as well.
func (r *round) watch(ctx context.Context) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	last := r.log.Now()
	for over := false; !over; {
		err := r.look.Ping(ctx).Err()
		now := r.log.Now()
		over = ctx.Err() != nil
		if (err == nil || over) && now.Sub(last) > slowAfter {
			r.log.Fault(history.Fault{Kind: slow, Client: history.Everyone, Start: last, End: now, Outlasts: true})
		}
		if err == nil {
			last = now
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// watchItself notes when this very process does not get to run.
func (r *round) watchItself(ctx context.Context) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	last := r.log.Now()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now := r.log.Now()
		if now.Sub(last) > starvedAfter {
			r.log.Fault(history.Fault{Kind: starved, Client: history.Everyone, Start: last, End: now, Outlasts: now.Sub(last) > slowAfter, Starved: true})
		}
		last = now
	}
}

// The kinds of what is noted and not injected.
const (
	slow    = "silence"
	starved = "starved"
)
