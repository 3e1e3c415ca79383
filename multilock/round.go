package multilock

import (
	"context"
	"time"
)

// round makes one attempt on every member that is not held, but for except, and
// reports whether that makes a hold. As soon as it is decided the rest is given a
// moment, so that a silent member costs little and a sound one is not left out.
func (g *gathering) round(except *member) (complete bool) {
	began := time.Now()
	ctx, cancel := context.WithCancelCause(g.ctx)
	defer cancel(nil)
	type result struct {
		at int
		grip
	}
	results := make(chan result, len(g.grips))
	asked := make(map[*member]bool)
	for i := range g.grips {
		x := &g.grips[i]
		if x.ended() {
			g.giveBack([]*grip{x}) // lost while the call waited: no I/O
		}
		if x.m == except || x.held() {
			continue
		}
		asked[x.m] = true
		m := x.m
		go deliver(results, result{i, grip{m: m, err: errAborted}}, func() result { // ends with ctx at the latest
			return result{i, g.l.attempt(ctx, m, g.terms.Lease)}
		})
	}
	var enough <-chan time.Time
	for len(asked) > 0 {
		select {
		case r := <-results:
			delete(asked, r.m)
			x := &g.grips[r.at]
			asking := x.busy() && r.busy() && !r.said() // another call is, and its server was not asked for this one
			if r.held() || x.err == nil || g.ctx.Err() == nil && !asking {
				*x = r.grip // otherwise the call is over, or nothing new is known: what was said before tells more
			}
			if held := heldOf(g.grips); enough == nil && (held >= g.l.need || held+len(asked) < g.l.need) {
				timer := time.NewTimer(g.l.grace(time.Since(began), asked))
				defer timer.Stop()
				enough = timer.C
			}
		case <-enough:
			cancel(errDecided)
		}
	}
	g.had = heldOf(g.grips)
	return g.complete(except != nil)
}

// complete reports whether the members that are held make a hold. A quorum leaves it
// to the holder of the first member that answers: otherwise a caller that comes again
// and again could take the others while the one who has waited longest takes the
// first. insist is for a call that has waited for that one in vain. A single attempt
// insists, and so do an owner that is inside already and a call at its limit.
func (g *gathering) complete(insist bool) bool {
	if heldOf(g.grips) < g.l.need {
		return false
	}
	if insist || g.once() || g.outer != nil || g.ctx.Err() != nil {
		return true
	}
	for i := range g.grips {
		switch x := &g.grips[i]; {
		case x.held():
			return true
		case x.busy():
			return false
		}
	}
	return false
}
func (g *gathering) all() []*grip { return g.where(func(*grip) bool { return true }) }

// where picks grips, in their order.
func (g *gathering) where(pick func(*grip) bool) (picked []*grip) {
	for i := range g.grips {
		if pick(&g.grips[i]) {
			picked = append(picked, &g.grips[i])
		}
	}
	return picked
}

// giveBack frees members, in parallel, and returns when that is confirmed or the
// members' limit is over, at once if the call is.
func (g *gathering) giveBack(grips []*grip) {
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
			g.l.giveBack(g.ctx, t)
		}()
	}
	for range n {
		<-done
	}
}
