package multilock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redlatch/redlatch/internal/multi"
)

// maxFailures is how many rounds in a row may fail before a call gives up that no majority has ever
// answered. It also bounds how often a hold may come too late for its lease.
const maxFailures = 3

// acquisition is one call on its way to a hold: rounds of single attempts on all members in parallel,
// and waits for one member in between (wait.go). It belongs to the calling goroutine.
type acquisition struct {
	l      *MultiLock
	user   context.Context // the caller's
	caller context.Context // made from it, to act for the caller on other goroutines
	ctx    context.Context // ends at the limit of the wait too
	terms  multi.Terms
	use    use
	outer  *Hold // of the same owner, if the call is nested
	began  time.Time
	holds  []memberHold // in canonical order

	vain        time.Duration // the longest wait of this call for which its patience was too short
	timid       bool          // has only the least patience, until the call gives members back the next time
	had         int           // members held at the end of the last round
	failures    int           // rounds in a row in which too many members failed
	failingFrom time.Time     // when the first of them failed
	answered    bool          // there was a round in which enough members answered
}

// errLimit is the cause with which a call's ctx ends at the limit of its wait.
var errLimit = errors.New("limit of the wait")

// acquire takes the lock for the owner of ctx.
func (l *MultiLock) acquire(ctx context.Context, terms multi.Terms, use use) (*Hold, error) {
	if len(l.members) == 0 { // New did not make it
		return nil, fmt.Errorf("%w: there are none", ErrMembers)
	}
	id, outer, err := l.nesting(ctx)
	if err != nil {
		return nil, err
	}
	a := &acquisition{
		l: l, user: ctx, caller: id.acting, ctx: id.acting, terms: terms, use: use,
		began: time.Now(), holds: make([]memberHold, len(l.members)),
	}
	for i, m := range l.members {
		a.holds[i].m = m
	}
	if terms.Limited && terms.Wait > 0 {
		limited, cancel := context.WithDeadlineCause(a.caller, a.began.Add(terms.Wait), errLimit)
		defer cancel()
		a.ctx = limited
	}
	a.outer = outer
	h, err := a.run(id.owner)
	if lost := a.outer.loss(); lost != nil {
		// The owner is inside a hold and believes to have held the lock all along. So it hears of the
		// loss, and what it got just now is given back.
		if h != nil {
			l.giveBack(a.ctx, multiTenure{h})
		}
		return nil, lost
	}
	return h, err
}

// nesting finds the owner of the call and the hold in which the call is nested. The error is ctx's,
// or a loss.
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
		// The hold that ctx comes from was released or lost since identify found it: its owner is not
		// the caller's any more, so the caller is identified anew.
	}
}

// run tries until there is a hold, or an error.
func (a *acquisition) run(owner string) (*Hold, error) {
	if a.ctx.Err() != nil {
		return nil, a.failure(ended(a.ctx))
	}
	// late counts the times that enough members were held and their leases left no time for a hold.
	for late := 0; ; {
		complete := a.round(nil)
		err := duplicates(a.holds)
		if err != nil {
			err = a.end(err)
		} else if !complete {
			complete, err = a.next()
		}
		switch {
		case err != nil:
			return nil, err
		case !complete:
			continue
		case a.caller.Err() != nil:
			return nil, a.end(ended(a.caller))
		}
		if h := a.newHold(owner); h != nil {
			return h, nil
		}
		a.giveBack(a.all())
		if late++; a.once() || late == maxFailures {
			return nil, a.failure(errTooLate)
		}
		if err := a.pause(a.someTime()); err != nil {
			return nil, err
		}
	}
}

// next decides what follows a round that made no hold: the end of the call (an error), or a wait,
// which may itself complete the hold.
func (a *acquisition) next() (complete bool, err error) {
	failed := a.where(func(x *memberHold) bool { return x.failed() })
	doomed := a.where(func(x *memberHold) bool { return !x.busy() && permanent(x.err) })
	spare := len(a.holds) - a.l.need
	switch {
	case a.ctx.Err() != nil:
		return false, a.end(ended(a.ctx))
	case a.once(), a.outer.loss() != nil:
		return false, a.end(nil)
	case len(doomed) > spare:
		return false, a.end(doomed[0].err)
	case len(failed) > spare:
		if a.failures++; a.failures == 1 {
			a.failingFrom = time.Now()
		}
		if !a.answered && a.failures >= maxFailures || time.Since(a.failingFrom) > a.l.cfg.lease {
			return false, a.end(nil)
		}
		a.giveBack(a.all())
		return false, a.pause(a.someTime())
	}
	a.failures, a.answered = 0, true
	if busy := a.where((*memberHold).retryable); len(busy) > 0 {
		return a.waitFor(busy[0])
	}
	// Quarantine is what is left, and its end is known.
	a.giveBack(a.all())
	return false, a.pause(a.quarantine() + a.someTime()/8)
}

// quarantine is the time after which enough members are out of quarantine.
func (a *acquisition) quarantine() (wait time.Duration) {
	usable := 0
	left := make([]time.Duration, 0, len(a.holds))
	for i := range a.holds {
		x := &a.holds[i]
		var q *QuarantineError
		switch {
		case errors.As(x.err, &q):
			left = append(left, q.Left)
		case !x.failed():
			usable++
		}
	}
	return nth(left, a.l.need-usable)
}

// once reports whether the call is a single attempt.
func (a *acquisition) once() bool { return a.terms.Limited && a.terms.Wait <= 0 }

// someTime is a random time: callers that got into each other's way do not meet again.
func (a *acquisition) someTime() time.Duration {
	return time.Millisecond + rand.N(a.l.cfg.limit/2+1)
}

// pause waits for d. It returns an error if the call ends meanwhile.
func (a *acquisition) pause(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-a.ctx.Done():
		return a.end(ended(a.ctx))
	}
}

// end gives all members back and returns the call's error.
func (a *acquisition) end(err error) error {
	failure := a.failure(err) // before: it tells what was held
	a.giveBack(a.all())
	return failure
}

// failure is the error of a call that ended because of err. At the limit of the wait it has no Err:
// the members' errors tell what the limit has ended.
func (a *acquisition) failure(err error) *NotAcquiredError {
	if errors.Is(err, errLimit) {
		err = nil
	}
	more := func(pick func(x *memberHold) bool) bool { return len(a.where(pick)) > len(a.holds)-a.l.need }
	e := &NotAcquiredError{
		Name: a.l.name, Held: a.had, Need: a.l.need, Of: len(a.holds),
		Waited: time.Since(a.began), Err: err, Members: memberErrors(a.holds),
		Busy: (err == nil || a.overdue(err)) &&
			more(func(x *memberHold) bool { return x.busy() && (a.once() || x.confirmedBusy()) }),
		said:   more(func(x *memberHold) bool { return x.busy() && x.confirmedBusy() }),
		failed: more((*memberHold).failed),
		doomed: permanent(err) || more(func(x *memberHold) bool { return !x.busy() && permanent(x.err) }),
	}
	e.waits = err == nil && !e.failed && !e.doomed && len(a.where((*memberHold).retryable)) > 0
	return e
}
