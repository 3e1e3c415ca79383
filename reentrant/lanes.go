package reentrant

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/watchdog"
)

// A part of a renewal is sent through the pool of the program's client. While that pool does not answer,
// the part is in trouble: the connections in the pool may be dead and not known to be, or all taken,
// though Redis could be reached. Then the part is sent by several lanes at once, and the first answer
// counts:
//
//	pool     as before, to find out when the pool answers again, which ends the trouble
//	detour   on a connection of its own
//	copies   through the pool, more of them each time, where no detour is to be had: each
//	         takes another connection, and a lane that hangs keeps its connection from the others
//
// The script may run several times, in any order: it sets the lease that is wanted. If a part has been
// answered, or given up, a lane of it that is still under way ends with its command. Few
// lanes go through a pool in trouble, so that they do not fill the pool while Redis is silent.
const (
	maxProbes  = 4
	maxCopies  = 16              // of one part
	maxCluster = 4 * renewAtOnce // maxProbes for all slots of a cluster
)

var (
	errProbing = errors.New("redlatch: not sent while so many renewals are not answered")
	errExit    = errors.New("redlatch: a hook ended the goroutine of a renewal")
	errPanic   = errors.New("redlatch: panic in a renewal")
	errUnsure  = errors.New("redlatch: Redis does not know the owner, asked past a hook or wrapper")
)

// part is what one script renews.
type part struct {
	slot    int
	targets []watchdog.Target
	lease   time.Duration
	alone   bool // other parts wait for this one: it ends with ctx
}

// answer is the result of a lane.
type answer struct {
	results []watchdog.Result
	err     error
}

// replied reports whether Redis answered, be it with an error.
func (a answer) replied() bool {
	var reply redis.Error
	return a.err == nil || errors.As(a.err, &reply)
}

// tells reports whether the answer says something of a lock. An error of Redis may concern this lane
// alone, as when a new connection is one too many.
func (a answer) tells() bool {
	return slices.ContainsFunc(a.results, func(r watchdog.Result) bool { return r.Outcome != watchdog.Failed })
}

// renewPart renews a part by as many lanes as it needs, and returns the first answer that tells
// something. An answer that comes after ctx has ended counts too, so renewPart waits for all lanes, but
// not longer than a lease. If other parts wait for this one, it ends with ctx.
func (r *renewer) renewPart(ctx context.Context, p part) []watchdog.Result {
	answers, pending := r.send(ctx, p)
	late := time.NewTimer(p.lease)
	defer late.Stop()
	given, err := ctx.Done(), error(errProbing)
	for pending > 0 {
		select {
		case a := <-answers:
			if pending--; a.tells() {
				return a.results
			}
			err = a.err
			if err == nil {
				err = errUnsure
			}
		case <-given:
			given = nil
			r.note(p.slot, false)
			if p.alone {
				return allFailed(p, ctx.Err())
			}
		case <-late.C:
			return allFailed(p, context.DeadlineExceeded)
		}
	}
	return allFailed(p, err)
}

func allFailed(p part, err error) []watchdog.Result {
	results := make([]watchdog.Result, len(p.targets))
	for i := range results {
		results[i] = watchdog.Result{Outcome: watchdog.Failed, Err: err}
	}
	return results
}

// send sends a part by each of its lanes.
func (r *renewer) send(ctx context.Context, p part) (answers chan answer, pending int) {
	answers = make(chan answer, maxCopies+1) // room for all
	tries := r.tries(p.slot)
	if tries == 0 {
		r.lane(answers, func() answer { return r.byPool(ctx, p) })
		return answers, 1
	}
	copies := 1
	if r.detours != nil {
		r.lane(answers, func() answer { return r.byDetour(ctx, p) })
		pending++
	} else {
		copies = min(1<<(2*min(tries, 2)), maxCopies)
	}
	for range copies {
		if !r.beginProbe() {
			break
		}
		r.lane(answers, func() answer {
			defer r.probing.Add(-1)
			return r.byPool(ctx, p)
		})
		pending++
	}
	return answers, pending
}

// lane runs one lane, which Close waits for. It sends an answer also if a hook ends the goroutine.
func (r *renewer) lane(answers chan<- answer, f func() answer) {
	r.lanes.Go(func() { // ends with its command
		a := answer{err: errExit}
		defer func() { answers <- a }()
		a = f()
	})
}

// beginProbe takes one of the places for lanes through a pool in trouble. It reports false if none is
// free.
func (r *renewer) beginProbe() bool {
	most := int32(maxProbes)
	switch {
	case r.clustered:
		most = maxCluster
	case r.detours == nil:
		most = 2 * maxCopies
	}
	if r.probing.Add(1) > most {
		r.probing.Add(-1)
		return false
	}
	return true
}

func (r *renewer) byPool(ctx context.Context, p part) answer {
	a := guarded(ctx, r.pool, p)
	if !errors.Is(a.err, errPanic) { // a panic says nothing of the pool
		// If the program has closed its client, no lane goes past it.
		r.note(p.slot, a.replied() || errors.Is(a.err, redis.ErrClosed))
	}
	return a
}

// byDetour believes "not the owner" only if the detour leaves nothing out. A hook or wrapper that the
// detour goes past may change the name of the key.
func (r *renewer) byDetour(ctx context.Context, p part) answer {
	a := guarded(ctx, r.detours, p)
	if r.whole {
		return a
	}
	for i, result := range a.results {
		if result.Outcome == watchdog.NotOwner {
			a.results[i] = watchdog.Result{Outcome: watchdog.Failed, Err: errUnsure}
		}
	}
	return a
}

// guarded sends a part, and returns a failure if a hook panics, as the watchdog does on its goroutines.
func guarded(ctx context.Context, p lua.Processor, w part) (a answer) {
	defer func() {
		if v := recover(); v != nil {
			a = answer{err: fmt.Errorf("%w: %v\n%s", errPanic, v, debug.Stack())}
		}
	}()
	a.results, a.err = renewTogether(ctx, p, w.targets, w.lease)
	return a
}

// tries returns how many tries in a row the pool has not answered. If there was any, it counts one more.
func (r *renewer) tries(slot int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.trouble[slot]
	if n > 0 {
		r.trouble[slot]++
	}
	return n
}

// note keeps whether the pool has answered in time.
func (r *renewer) note(slot int, answered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case answered:
		delete(r.trouble, slot)
	case r.trouble[slot] == 0:
		r.trouble[slot] = 1
	}
}

// wait waits for the lanes that are under way, until ctx ends.
func (r *renewer) wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() { // ends with the lanes
		defer close(done)
		r.lanes.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("renewals still in flight: %w", context.Cause(ctx))
	}
}
