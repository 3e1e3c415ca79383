package multilock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/multi"
	"github.com/redlatch/redlatch/reentrant"
	"github.com/redlatch/redlatch/watchdog"
)

// Release releases this hold, as [MultiLock.Unlock] does for Lock, and from any goroutine. A second
// call returns [reentrant.ErrNotHeld]. If the hold's ctx has ended with a loss before, the text of
// the error is short, as the error of [reentrant.Hold.Release].
func (h *Hold) Release(ctx context.Context) error { return h.releaseAs(ctx, multi.Tenure.Release) }

// releaseAs is Release; how is the way in which each member is released.
func (h *Hold) releaseAs(ctx context.Context, how memberCommand) error {
	if h.use != forOuter { // for forOuter the outer MultiLock limits the wait, and any end of ctx ends it
		var cancel context.CancelFunc
		ctx, cancel = multi.UntilReleased(ctx)
		defer cancel()
	}
	h.mu.Lock()
	if h.released {
		h.mu.Unlock()
		return &reentrant.NotHeldError{Name: h.l.name, Owner: h.owner}
	}
	h.released = true
	// In one step with released: a hold that a ctx comes from is on the record, or released.
	h.l.forget(h)
	before := h.state == lost && h.use == forHold // then the hold's ctx has told the caller of the loss
	if h.state == held {
		if until := h.l.trusted(h.holds); until.IsZero() || watchdog.Passed(until) {
			h.lose() // the monitor has not noticed it yet: the process was stopped
		}
	}
	if h.state == lost {
		err := h.err
		h.mu.Unlock()
		return h.releasedLost(ctx, err, before)
	}
	outer := h.outer
	h.ended = time.Now()
	// Without outer: in a chain of holds each would keep all earlier ones in memory.
	h.state, h.outer = released, nil
	h.cancel(reentrant.ErrReleased)
	close(h.stop)
	h.mu.Unlock()
	<-h.done // soon: the monitor cancels its own work
	confirmed, members := h.l.tell(ctx, h.surrender(), h.l.need, how)
	if confirmed >= h.l.need {
		return nil
	}
	if lost := outer.loss(); lost != nil && !outer.over() {
		return lost // the outer hold was lost meanwhile, and its owner was not told
	}
	return &ReleaseError{Name: h.l.name, Confirmed: confirmed, Need: h.l.need, Of: len(h.holds), Members: members}
}

// surrender takes all members out of the hold, for their release.
func (h *Hold) surrender() (holds []memberHold) {
	h.mu.Lock()
	defer h.mu.Unlock()
	holds = slices.Clone(h.holds)
	for i := range h.holds {
		if x := &h.holds[i]; x.held() {
			x.drop(nil)
		}
	}
	return holds
}

// release releases all members that are held, in parallel. It returns how many have confirmed, and
// the errors of the others. When enough have confirmed, the rest is given a moment. After that, and
// when ctx ends, the members' Clients go on in the background.
func (l *MultiLock) release(ctx context.Context, holds []memberHold, enough int) (confirmed int, members []*MemberError) {
	return l.tell(ctx, holds, enough, multi.Tenure.Release)
}

// memberCommand is a command for a member that is held.
type memberCommand func(t multi.Tenure, ctx context.Context) error

// tell gives all members that are held a command, and is otherwise as release.
func (l *MultiLock) tell(ctx context.Context, holds []memberHold, enough int, how memberCommand) (confirmed int, members []*MemberError) {
	began := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		m   *member
		err error
	}
	results := make(chan result, len(holds))
	asked := make(map[*member]bool)
	for i := range holds {
		x := &holds[i]
		if !x.held() {
			continue
		}
		m, t := x.m, x.tenure
		asked[m] = true
		// Ends with ctx at the latest.
		go deliver(results, result{m, errAborted}, func() result { return result{m, how(t, ctx)} })
	}
	var over <-chan time.Time
	for len(asked) > 0 {
		select {
		case r := <-results:
			delete(asked, r.m)
			if r.err != nil {
				members = append(members, &MemberError{Name: r.m.Name(), Server: r.m.server, Err: r.err})
			} else {
				confirmed++
			}
			if confirmed >= enough && over == nil {
				timer := time.NewTimer(l.grace(time.Since(began), asked))
				defer timer.Stop()
				over = timer.C
			}
		case <-over:
			cancel()
		}
	}
	return confirmed, members
}

// ended is why ctx has ended: its cause, joined with context.Canceled or DeadlineExceeded if the
// cause is neither.
func ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ctx.Err()) {
		return cause
	}
	return errors.Join(ctx.Err(), cause)
}

// releasedLost ends the release of a hold that is lost. It returns when the monitor has freed the rest. before: the
// hold's ctx has told the loss already.
func (h *Hold) releasedLost(ctx context.Context, err error, before bool) error {
	select {
	case <-h.done:
	case <-ctx.Done():
	}
	if before {
		return toldBefore(err)
	}
	return err
}

// toldBefore is the error of a Release after a loss that the hold's ctx has told already.
func toldBefore(err error) error {
	lost, is := err.(*LostError)
	if !is {
		return err
	}
	return errs.Told(lost, fmt.Sprintf("redlatch: release of lock %q: it was lost before, as the ctx of the hold has said (%d of %d valid, %d needed)",
		lost.Name, lost.Valid, lost.Of, lost.Need))
}
