package multilock

import (
	"context"
	"time"
)

// round makes one attempt on every member that is not held, except on the given one, and reports
// whether there is a hold then. As soon as the round is decided, the rest is given a moment: a silent
// member then costs little, and a sound one is not left out.
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
		// Ends with ctx at the latest.
		go deliver(results, result{i, memberHold{m: m, err: errAborted}}, func() result {
			return result{i, a.l.attempt(ctx, m, a.terms.Lease)}
		})
	}
	var enough <-chan time.Time
	for len(asked) > 0 {
		select {
		case r := <-results:
			delete(asked, r.m)
			a.note(&a.holds[r.at], &r.memberHold)
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

// complete reports whether the members that are held make a hold. A quorum leaves the lock to the
// holder of the first member that answers, even if it has a majority itself. Without that rule:
//
//  1. A caller waits for the first member.
//  2. The holder unlocks and locks again at once. It takes the other members, which are a majority.
//  3. The waiter is woken and takes the first member. It finds the others busy, and so on for ever.
//
// The rule does not apply to a call that has waited for the first member in vain (insist), to a
// single attempt, to an owner that is inside already, and to a call at its limit.
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

// where returns the member holds that pick accepts, in their order.
func (a *acquisition) where(pick func(*memberHold) bool) (picked []*memberHold) {
	for i := range a.holds {
		if pick(&a.holds[i]) {
			picked = append(picked, &a.holds[i])
		}
	}
	return picked
}

// giveBack frees members, in parallel. It returns when Redis has confirmed that or the members' limit
// is over, and at once if the call has ended.
func (a *acquisition) giveBack(holds []*memberHold) {
	done := make(chan struct{}, len(holds))
	n := 0
	for _, x := range holds {
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

// note keeps what an attempt has found out about a member. If the call is over, or nothing new is known, the
// earlier answer tells more.
func (a *acquisition) note(x, found *memberHold) {
	// The result only says that another call of this Client is asking the server.
	asking := x.busy() && found.busy() && !found.confirmedBusy()
	if found.held() || x.err == nil || a.ctx.Err() == nil && !asking {
		*x = *found
	}
}
