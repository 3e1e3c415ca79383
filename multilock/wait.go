package multilock

import (
	"context"
	"slices"
	"time"
)

// waitFor waits for the first busy member as a reentrant lock waits: in its queue, and woken by its
// release. It first gives back the members that come after that one in the canonical order. It keeps
// the members that come before for as long as the call's patience lasts, and then gives them back
// too. It never gives up its place in the queue before the call ends.
//
// Among callers who agree on the order it is safe to keep them. Every caller waits for a member that
// comes after all members it has. So the holder of the awaited member does not wait for this caller.
// Patience is for callers who do not agree (patience.go).
//
// A quorum may do without the member that it waits for. From time to time it tries the others.
// waitFor returns whether that has made a hold.
func (a *acquisition) waitFor(busy *memberHold) (complete bool, err error) {
	m := busy.m
	after := func(x *memberHold) bool { return x.m.rank >= m.rank }
	a.giveBack(a.where(after))

	ctx, cancel := context.WithCancel(a.caller)
	defer cancel()
	granted := make(chan memberHold, 1)
	// Ends with ctx or the limit, and is waited for below.
	go deliver(granted, memberHold{m: m, err: errAborted}, func() memberHold { return a.await(ctx, m) })

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
				*busy = x // granted at this very moment: one more is welcome
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

// retry tries all members except the one for which a quorum waits. The members that the call has kept
// must be good enough for a hold, so they are refreshed before.
func (a *acquisition) retry(except *member) (complete bool) {
	a.refresh()
	return a.round(except)
}

// settleWait enters the result of the wait for a member.
func (a *acquisition) settleWait(busy *memberHold, x memberHold) error {
	if x.held() || a.caller.Err() == nil || byDeadline(a.caller) {
		*busy = x // otherwise the caller has left, and the earlier answer tells more
	}
	if !busy.held() && !busy.busy() && !a.l.quorum {
		// The awaited member is not known to be another owner's any more. What the other members said
		// is as old as the wait. With their old answers the call would end at its limit as if the
		// lock were busy, although the servers may all be silent by now. So those answers are
		// forgotten. A quorum has asked the others meanwhile.
		for i := range a.holds {
			if other := &a.holds[i]; other != busy && !other.held() {
				other.err = nil
			}
		}
	}
	switch {
	case x.held() && a.caller.Err() == nil:
		a.refresh()
		return nil // also at the limit: this may have been the last missing member
	case a.ctx.Err() != nil:
		return a.end(ended(a.ctx))
	}
	return a.pause(a.someTime()) // the member is in trouble: without a pause the call would spin
}

// nth is the n-th shortest of the times, or the longest if there are fewer.
func nth(times []time.Duration, n int) time.Duration {
	if n <= 0 || len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[min(n, len(times))-1]
}
