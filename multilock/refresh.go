package multilock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/multi"
)

// refresh makes the members usable again that the call has kept over a wait, in parallel: the wait
// may have been long. A fixed lease begins anew. A quorum asks a server again who it is once a third
// of the time is over for which its last answer counts. A member whose server is another one now is
// given back. A member that does not answer is kept with what it has.
func (a *acquisition) refresh() {
	type result struct {
		at int
		memberHold
	}
	results := make(chan result, len(a.holds))
	n := 0
	for i := range a.holds {
		x := a.holds[i]
		if !x.held() || x.ended() || !a.nearlyExpired(&x) {
			continue
		}
		n++
		go func() { // ends within thrice the members' limit
			fresh, old := a.l.freshen(a.ctx, x, a.terms.Lease)
			if old != nil {
				a.l.giveBack(a.ctx, old)
			}
			results <- result{i, fresh}
		}()
	}
	for range n {
		r := <-results
		a.holds[r.at] = r.memberHold
	}
}

// nearlyExpired reports whether a member that is held should be refreshed.
func (a *acquisition) nearlyExpired(x *memberHold) bool {
	if a.terms.Lease != 0 {
		return true
	}
	until := x.proof.until(a.l.cfg.longest)
	return !until.IsZero() && time.Until(until) < a.l.cfg.longest*2/3
}

// freshen is refresh for one member. The caller gives old back: it is the hold on the member, if its
// server failed the check, or the earlier one of two holds, whose lease is the shorter one.
func (l *MultiLock) freshen(ctx context.Context, x memberHold, lease time.Duration) (fresh memberHold, old multi.Tenure) {
	if l.cfg.prove {
		fresh = l.verify(ctx, x)
		if !fresh.held() {
			return fresh, x.tenure
		}
		x = fresh
	}
	if lease == 0 {
		return x, nil
	}
	limited, cancel := context.WithTimeoutCause(ctx, l.cfg.limit, errSilent)
	defer cancel()
	longer, err := x.m.Take(limited, multi.Terms{Limited: true, Lease: lease})
	if err != nil {
		return x, nil // if the member is lost, the next round finds that
	}
	old, x.tenure = x.tenure, longer
	return x, old
}
