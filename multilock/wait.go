package multilock

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"
)

// maxPatience is the most that passes between two attempts of a waiting quorum on the
// members that it does not wait for.
const maxPatience = 5 * time.Second

// waitFor waits for the first busy member as a reentrant lock waits: in its queue, and
// woken by its release. What comes after that member in the canonical order is given
// back first. What comes before is kept for a while, so that a lock whose members many
// others use cannot be passed over for ever, and then given back too; the place in the
// queue is never given up before the call ends. Members with a fixed lease are not
// kept, as their time is running.
//
// Nobody therefore waits for long with something in hand, whatever others do, and
// nobody at all for a member that comes before one it has.
//
// A quorum may do without the member that it waits for. From time to time it tries the
// others. waitFor returns whether that has made a hold.
func (g *gathering) waitFor(busy *grip) (complete bool, err error) {
	g.giveBack(g.where(func(x *grip) bool {
		return g.terms.Lease != 0 || x.m.rank >= busy.m.rank
	}))

	ctx, cancel := context.WithCancel(g.caller)
	defer cancel()
	granted := make(chan grip, 1)
	m := busy.m
	go func() { granted <- g.await(ctx, m) }() // ends with ctx or the limit, and is waited for below

	patience := g.l.patience()
	timer := time.NewTimer(g.bounded(patience))
	defer timer.Stop()
	for {
		select {
		case x := <-granted:
			return false, g.waited(busy, x)
		case <-timer.C:
		}
		if g.l.quorum && g.round(m) {
			cancel()
			if x := <-granted; x.held() {
				*busy = x // at this very moment: one more is welcome
			}
			return true, nil
		}
		g.giveBack(g.all())
		if g.l.quorum {
			patience = min(2*patience, maxPatience)
			timer.Reset(g.bounded(patience - rand.N(patience/4+1)))
		}
	}
}

// waited notes what came of the wait for a member.
func (g *gathering) waited(busy *grip, x grip) error {
	if x.held() || g.caller.Err() == nil {
		*busy = x // otherwise the caller has left, and what was said before tells more
	}
	if !busy.held() && !busy.busy() && !g.l.quorum {
		// It is not known to be another's any more. What the others said is as old as the
		// wait: without it the call would end at its limit as if the lock were busy,
		// whatever has become of the servers. A quorum has asked the others meanwhile.
		for i := range g.grips {
			if other := &g.grips[i]; other != busy && !other.held() {
				other.err = nil
			}
		}
	}
	switch {
	case x.held() && g.caller.Err() == nil:
		return nil // also at the limit: it may have been the last that was missing
	case g.ctx.Err() != nil:
		return g.end(ended(g.ctx))
	}
	return g.pause(g.someTime()) // it is in trouble, and must not make the call spin
}

// bounded leaves a call with a limit the time for one more attempt.
func (g *gathering) bounded(patience time.Duration) time.Duration {
	if deadline, ok := g.ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline)/2)
	}
	return max(patience, time.Millisecond)
}

// nth is the n-th shortest, the longest if there are fewer.
func nth(times []time.Duration, n int) time.Duration {
	if n <= 0 || len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[min(n, len(times))-1]
}
