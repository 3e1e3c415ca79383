package multilock

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/multi"
	"github.com/redlatch/redlatch/watchdog"
)

// update is what the maintenance found out about one member.
type update struct {
	memberHold              // as it is now
	at         int          // in the hold's member holds
	before     multi.Tenure // the hold on it when maintenance began; nil: none
}

// firstMaintenance is the time until the first maintenance. It comes soon if a member is missing:
// that one may just have been slow, or its last owner was just releasing it.
func (h *Hold) firstMaintenance() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if heldOf(h.holds) < len(h.holds) {
		return min(h.l.cfg.limit, h.l.cfg.tick)
	}
	return h.l.cfg.tick
}

// maintain begins to ask the servers of all members that are held, and to take the members that are
// not. It leaves out a member whose last update has not come yet, so a silent member does not keep
// the others from their checks. It returns how many updates will come.
func (h *Hold) maintain(ctx context.Context, found chan<- update, asked []bool) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	lease, ending := time.Duration(0), false
	if !h.fixed.IsZero() {
		lease = time.Until(h.fixed) // the member must not outlast the other ones
		ending = lease <= h.l.cfg.limit
	}
	for i := range h.holds {
		x := h.holds[i]
		switch {
		case asked[i]:
		case x.held() && h.l.cfg.prove:
			n++
			asked[i] = true
			go deliver(found, update{x, i, x.tenure}, func() update { // the monitor waits for it
				return update{h.l.verify(ctx, x), i, x.tenure}
			})
		case !x.held() && !ending:
			n++
			asked[i] = true
			// The monitor waits for it.
			go deliver(found, update{memberHold{m: x.m, err: errAborted}, i, nil}, func() update {
				return update{h.l.attempt(ctx, x.m, lease), i, nil}
			})
		}
	}
	return n
}

// verify asks the server of a member that is held who it is. A server that was restarted or replaced
// is not trusted any more, even if it knows the lock. A server that does not answer is asked again at
// the next maintenance; until then it is trusted for as long as its last answer allows.
func (l *MultiLock) verify(ctx context.Context, x memberHold) memberHold {
	limited, cancel := context.WithTimeoutCause(ctx, l.cfg.limit, errSilent)
	defer cancel()
	p, err := l.checkServer(limited, x.m)
	x.unproven = err
	switch {
	case p.runs != "" && p.runs != x.proof.runs:
		if err == nil {
			err = fmt.Errorf("%w: it is another one than before", ErrQuarantined)
		}
		return memberHold{m: x.m, err: err}
	case err == nil:
		x.proof = p
	}
	return x
}

// apply enters an update of a member. It returns the member's hold if it is to be given back: the
// member is not trusted any more, or was taken after the hold had ended.
func (h *Hold) apply(n update) (unwanted multi.Tenure) {
	h.mu.Lock()
	defer h.mu.Unlock()
	x := &h.holds[n.at]
	switch {
	case x.tenure != n.before:
		return nil // the member was verified, and was lost meanwhile
	case n.before != nil && n.held():
		x.proof, x.unproven = n.proof, n.unproven
	case n.before != nil:
		return x.drop(n.err)
	case !n.held():
		x.err = n.err
	case h.state == held && !watchdog.Passed(h.last):
		*x = n.memberHold
		h.watch(n.tenure)
	default:
		return n.tenure
	}
	return nil
}
