package multilock

import (
	"context"
	"time"
)

// round makes one attempt on every member that is not held, but for except, and
// reports whether that makes a hold. As soon as it is decided the rest is given a
// moment, so that a silent member costs little and a sound one is not left out.
func (a *acquisition) round(except *member) (complete bool) {
	began := time.Now()
	ctx, cancel := context.WithCancelCause(a.ctx)
	defer cancel(nil)
	type result struct {
		at int
		memberHold
	}
	results := make(chan result, len(a.holds))
	asked := make(map[*member]bool)
	for i := range a.holds {
		x := &a.holds[i]
		if x.ended() {
			a.giveBack([]*memberHold{x}) // lost while the call waited: no I/O
		}
		if x.m == except || x.held() {
			continue
		}
		asked[x.m] = true
		m := x.m
		go deliver(results, result{i, memberHold{m: m, err: errAborted}}, func() result { // ends with ctx at the latest
			return result{i, a.l.attempt(ctx, m, a.terms.Lease)}
		})
	}
	var enough <-chan time.Time
	for len(asked) > 0 {
		select {
		case r := <-results:
			delete(asked, r.m)
			x := &a.holds[r.at]
			asking := x.busy() && r.busy() && !r.confirmedBusy() // another call is, and its server was not asked for this one
			if r.held() || x.err == nil || a.ctx.Err() == nil && !asking {
				*x = r.memberHold // otherwise the call is over, or nothing new is known: what was said before tells more
			}
			if held := heldOf(a.holds); enough == nil && (held >= a.l.need || held+len(asked) < a.l.need) {
				timer := time.NewTimer(a.l.grace(time.Since(began), asked))
				defer timer.Stop()
				enough = timer.C
			}
		case <-enough:
			cancel(errDecided)
		}
	}
	a.had = heldOf(a.holds)
	return a.complete(except != nil)
}

// complete reports whether the members that are held make a hold. A quorum leaves it
// to the holder of the first member that answers: otherwise a caller that comes again
// and again could take the others while the one who has waited longest takes the
// first. insist is for a call that has waited for that one in vain. A single attempt
// insists, and so do an owner that is inside already and a call at its limit.
func (a *acquisition) complete(insist bool) bool {
	if heldOf(a.holds) < a.l.need {
		return false
	}
	if insist || a.once() || a.outer != nil || a.ctx.Err() != nil {
		return true
	}
	for i := range a.holds {
		switch x := &a.holds[i]; {
		case x.held():
			return true
		case x.busy():
			return false
		}
	}
	return false
}
func (a *acquisition) all() []*memberHold { return a.where(func(*memberHold) bool { return true }) }

// where picks member holds, in their order.
func (a *acquisition) where(pick func(*memberHold) bool) (picked []*memberHold) {
	for i := range a.holds {
		if pick(&a.holds[i]) {
			picked = append(picked, &a.holds[i])
		}
	}
	return picked
}

// giveBack frees members, in parallel, and returns when that is confirmed or the
// members' limit is over, at once if the call is.
func (a *acquisition) giveBack(grips []*memberHold) {
	done := make(chan struct{}, len(grips))
	n := 0
	for _, x := range grips {
		if !x.held() {
			continue
		}
		n++
		t := x.drop(nil)
		go func() { // ends with giveBack
			defer func() { done <- struct{}{} }()
			a.l.giveBack(a.ctx, t)
		}()
	}
	for range n {
		<-done
	}
}
