package multilock

import (
	"context"
	"slices"
	"time"
)

// waitFor waits for the first busy member as a reentrant lock waits: in its queue, and
// woken by its release. What comes after that member in the canonical order is given
// back first. What comes before is kept for as long as the call's patience lasts, and then
// given back too; the place in the queue is never given up before the call ends.
//
// To keep it is safe among callers who agree on the order: nobody waits for a member that
// comes before one it has, so those who hold what is waited for do not wait for the caller.
// Patience is for the others (patience.go).
//
// A quorum may do without the member that it waits for. From time to time it tries the
// others. waitFor returns whether that has made a hold.
func (a *acquisition) waitFor(busy *memberHold) (complete bool, err error) {
	m := busy.m
	after := func(x *memberHold) bool { return x.m.rank >= m.rank }
	a.giveBack(a.where(after))

	ctx, cancel := context.WithCancel(a.caller)
	defer cancel()
	granted := make(chan memberHold, 1)
	go deliver(granted, memberHold{m: m, err: errAborted}, func() memberHold { return a.await(ctx, m) }) // ends with ctx or the limit, and is waited for below

	p := a.patience()
	timer := time.NewTimer(p.next())
	defer timer.Stop()
	for {
		select {
		case x := <-granted:
			a.learn(p, x)
			return false, a.settleWait(busy, x)
		case <-timer.C:
		}
		if a.l.quorum && a.retry(m) {
			cancel()
			if x := <-granted; x.held() {
				*busy = x // at this very moment: one more is welcome
			}
			return true, nil
		}
		kept := a.where(func(x *memberHold) bool { return x.held() && x.m.rank < m.rank })
		a.giveBack(a.where(after))
		if p.over() {
			p.vain = p.vain || len(kept) > 0
			a.giveBack(kept)
		}
		switch {
		case a.l.quorum:
			p.pause = min(2*p.pause, maxPause)
			timer.Reset(a.bounded(p.next()))
		case !p.over(): // the timer was early
			timer.Reset(p.next())
		}
	}
}

// retry tries the members but for the one that a quorum waits for. Those it has kept have to
// be good enough for a hold.
func (a *acquisition) retry(except *member) (complete bool) {
	a.refresh()
	return a.round(except)
}

// settleWait notes what came of the wait for a member.
func (a *acquisition) settleWait(busy *memberHold, x memberHold) error {
	if x.held() || a.caller.Err() == nil || byDeadline(a.caller) {
		*busy = x // otherwise the caller has left, and what was said before tells more
	}
	if !busy.held() && !busy.busy() && !a.l.quorum {
		// It is not known to be another's any more. What the others said is as old as the
		// wait: without it the call would end at its limit as if the lock were busy,
		// whatever has become of the servers. A quorum has asked the others meanwhile.
		for i := range a.holds {
			if other := &a.holds[i]; other != busy && !other.held() {
				other.err = nil
			}
		}
	}
	switch {
	case x.held() && a.caller.Err() == nil:
		a.refresh()
		return nil // also at the limit: it may have been the last that was missing
	case a.ctx.Err() != nil:
		return a.end(ended(a.ctx))
	}
	return a.pause(a.someTime()) // it is in trouble, and must not make the call spin
}

// nth is the n-th shortest, the longest if there are fewer.
func nth(times []time.Duration, n int) time.Duration {
	if n <= 0 || len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[min(n, len(times))-1]
}
