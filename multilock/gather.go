package multilock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// maxFailures is how many tries in a row may fail for want of answers before a call
// that no majority has ever answered gives up.
const maxFailures = 3

// gathering is the way of one call to a hold: rounds of single attempts on all members
// in parallel, and waits on one of them in between (wait.go). It belongs to the calling
// goroutine.
type gathering struct {
	l      *MultiLock
	user   context.Context // the caller's
	caller context.Context // made from it, to act for the caller on other goroutines
	ctx    context.Context // ends at the limit of the wait too
	terms  reentrant.Terms
	use    use
	outer  *Hold // of the same owner, if the call is nested
	began  time.Time
	grips  []grip // in canonical order

	vain        time.Duration // the longest wait of this call that its patience was too short for
	timid       bool          // the call does with little patience until it gives members back again
	had         int           // members held at the end of the last round
	failures    int           // rounds in a row that too many members failed
	failingFrom time.Time     // the first of them
	answered    bool          // there was a round that was not one of them
}

// errLimit is the cause for which a call's ctx ends at the limit of its wait.
var errLimit = errors.New("limit of the wait")

// acquire takes the lock for the owner of ctx.
func (l *MultiLock) acquire(ctx context.Context, terms reentrant.Terms, use use) (*Hold, error) {
	if len(l.members) == 0 { // New did not make it
		return nil, fmt.Errorf("%w: there are none", ErrMembers)
	}
	id, outer, err := l.nesting(ctx)
	if err != nil {
		return nil, err
	}
	g := &gathering{
		l: l, user: ctx, caller: id.acting, ctx: id.acting, terms: terms, use: use,
		began: time.Now(), grips: make([]grip, len(l.members)),
	}
	for i, m := range l.members {
		g.grips[i].m = m
	}
	if terms.Limited && terms.Wait > 0 {
		limited, cancel := context.WithDeadlineCause(g.caller, g.began.Add(terms.Wait), errLimit)
		defer cancel()
		g.ctx = limited
	}
	g.outer = outer
	h, err := g.run(id.owner)
	if lost := g.outer.loss(); lost != nil {
		// Whoever is inside a hold believes to have held the lock all along.
		if h != nil {
			l.giveBack(g.ctx, multiTenure{h})
		}
		return nil, lost
	}
	return h, err
}

// nesting finds out who takes the lock, and the hold that it is nested in. The error is that of ctx, or a loss.
func (l *MultiLock) nesting(ctx context.Context) (id identity, outer *Hold, err error) {
	for {
		if id, err = l.identify(ctx); err != nil {
			return identity{}, nil, err
		}
		if lost := cmp.Or(id.lost, l.owed(id.owner)); lost != nil {
			return identity{}, nil, lost
		}
		outer = l.innermost(id)
		if id.tenure == nil || outer != nil {
			return id, outer, nil
		}
		// The hold that ctx comes from was released, or lost, since: its owner is not the caller any more.
	}
}

// run tries until there is a hold, or an error.
func (g *gathering) run(owner string) (*Hold, error) {
	if g.ctx.Err() != nil {
		return nil, g.failure(ended(g.ctx))
	}
	for late := 0; ; {
		complete := g.round(nil)
		err := twice(g.grips)
		if err != nil {
			err = g.end(err)
		} else if !complete {
			complete, err = g.next()
		}
		switch {
		case err != nil:
			return nil, err
		case !complete:
			continue
		case g.caller.Err() != nil:
			return nil, g.end(ended(g.caller))
		}
		if h := g.newHold(owner); h != nil {
			return h, nil
		}
		g.giveBack(g.all())
		if late++; g.once() || late == maxFailures {
			return nil, g.failure(errTooLate)
		}
		if err := g.pause(g.someTime()); err != nil {
			return nil, err
		}
	}
}

// next says what is done after a round that was not complete: nothing (an error), or
// waiting, which may itself complete the hold.
func (g *gathering) next() (complete bool, err error) {
	failed := g.where(func(x *grip) bool { return x.failed() })
	doomed := g.where(func(x *grip) bool { return !x.busy() && hopeless(x.err) })
	spare := len(g.grips) - g.l.need
	switch {
	case g.ctx.Err() != nil:
		return false, g.end(ended(g.ctx))
	case g.once(), g.outer.loss() != nil:
		return false, g.end(nil)
	case len(doomed) > spare:
		return false, g.end(doomed[0].err)
	case len(failed) > spare:
		if g.failures++; g.failures == 1 {
			g.failingFrom = time.Now()
		}
		if !g.answered && g.failures >= maxFailures || time.Since(g.failingFrom) > g.l.cfg.lease {
			return false, g.end(nil)
		}
		g.giveBack(g.all())
		return false, g.pause(g.someTime())
	}
	g.failures, g.answered = 0, true
	if busy := g.where((*grip).awaitable); len(busy) > 0 {
		return g.waitFor(busy[0])
	}
	// Quarantine is what is left, and its end is known.
	g.giveBack(g.all())
	return false, g.pause(g.quarantine() + g.someTime()/8)
}

// quarantine is how long it takes until enough members are out of it.
func (g *gathering) quarantine() (wait time.Duration) {
	usable := 0
	left := make([]time.Duration, 0, len(g.grips))
	for i := range g.grips {
		x := &g.grips[i]
		var q *QuarantineError
		switch {
		case errors.As(x.err, &q):
			left = append(left, q.Left)
		case !x.failed():
			usable++
		}
	}
	return nth(left, g.l.need-usable)
}

// once reports whether the call is a single attempt.
func (g *gathering) once() bool { return g.terms.Limited && g.terms.Wait <= 0 }

// someTime is a random time, so that callers that got into each other's way do not
// meet again.
func (g *gathering) someTime() time.Duration {
	return time.Millisecond + rand.N(g.l.cfg.limit/2+1)
}

// pause waits. The error is that of a call that is over.
func (g *gathering) pause(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-g.ctx.Done():
		return g.end(ended(g.ctx))
	}
}

// end gives everything back and returns the call's error.
func (g *gathering) end(err error) error {
	failure := g.failure(err) // before: it tells what was held
	g.giveBack(g.all())
	return failure
}

// failure is the error of a call that ended because of err, or at its limit.
func (g *gathering) failure(err error) *NotAcquiredError {
	if errors.Is(err, errLimit) {
		err = nil
	}
	more := func(pick func(x *grip) bool) bool { return len(g.where(pick)) > len(g.grips)-g.l.need }
	e := &NotAcquiredError{
		Name: g.l.name, Held: g.had, Need: g.l.need, Of: len(g.grips),
		Waited: time.Since(g.began), Err: err, Members: memberErrors(g.grips),
		Busy: (err == nil || g.overdue(err)) &&
			more(func(x *grip) bool { return x.busy() && (g.once() || x.said()) }),
		said:   more(func(x *grip) bool { return x.busy() && x.said() }),
		failed: more((*grip).failed),
		doomed: hopeless(err) || more(func(x *grip) bool { return !x.busy() && hopeless(x.err) }),
	}
	e.waits = err == nil && !e.failed && !e.doomed && len(g.where((*grip).awaitable)) > 0
	return e
}
