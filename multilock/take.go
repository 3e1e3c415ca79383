package multilock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// attempt makes a single attempt on a member and has its server prove itself. Each is
// given the members' limit. When it returns, the member is held with a proof, or is
// free or on its way to be freed.
func (l *MultiLock) attempt(ctx context.Context, m *member, lease time.Duration) memberHold {
	if err := l.quarantined(m); err != nil {
		return memberHold{m: m, err: err}
	}
	limited, cancel := context.WithTimeoutCause(ctx, l.cfg.limit, errSilent)
	defer cancel()
	asked := time.Now()
	tenure, err := m.Take(limited, reentrant.Terms{Limited: true, Lease: lease})
	if err != nil {
		return l.refused(limited, m, err)
	}
	defer func() { m.noteResponseTime(time.Since(asked)) }()
	return l.proven(ctx, m, tenure)
}

// await waits for a member until ctx ends, and is otherwise as attempt. The limit of the
// call does not end the wait: the member has the same one, and tells at its end whether
// it is busy or has been silent.
func (a *acquisition) await(ctx context.Context, m *member) memberHold {
	if err := a.l.quarantined(m); err != nil {
		return memberHold{m: m, err: err}
	}
	terms := reentrant.Terms{Lease: a.terms.Lease}
	limited, cancel := ctx, context.CancelFunc(func() {})
	if a.terms.Limited {
		limit := a.began.Add(a.terms.Wait)
		terms.Limited, terms.Wait = true, max(time.Until(limit), 1)
		limited, cancel = context.WithDeadlineCause(ctx, limit, errLimit)
	}
	defer cancel()
	tenure, err := m.Take(ctx, terms)
	if err != nil {
		x := a.l.refused(ctx, m, err)
		x.awaited = true
		return x
	}
	return a.l.proven(limited, m, tenure)
}

// refused is what there is of a member that was not granted.
func (l *MultiLock) refused(ctx context.Context, m *member, err error) memberHold {
	err = l.explain(ctx, err)
	m.noteSilence(err)
	return memberHold{m: m, err: err}
}

// proven has the server of a member that was granted prove itself. If it does not, the
// member is given back in what is left of the limit: after silence in the background.
func (l *MultiLock) proven(ctx context.Context, m *member, t reentrant.Tenure) memberHold {
	limited, cancel := context.WithTimeoutCause(ctx, l.cfg.limit, errSilent)
	defer cancel()
	p, err := l.checkServer(limited, m)
	if err != nil {
		_ = t.Release(limited)
		return memberHold{m: m, err: err}
	}
	return memberHold{m: m, tenure: t, proof: p}
}

// explain tells a member that was silent from one that was left alone, and from one whose
// caller left.
func (l *MultiLock) explain(limited context.Context, err error) error {
	switch cause := context.Cause(limited); {
	case isBusy(err), permanent(err):
		return err
	case errors.Is(cause, errSilent):
		return fmt.Errorf("%w, at most %v", ErrNoAnswer, l.cfg.limit)
	case errors.Is(cause, errDecided):
		return errSlow
	}
	return err
}

// errAborted: a hook of go-redis or an event function has called runtime.Goexit. The member's Client gives back what
// it was granted.
var errAborted = errors.New("redlatch: the goroutine was ended by a hook or an event function")

// deliver sends what f returns, or v if f ends its goroutine: somebody waits for it. f runs code of the
// program's.
func deliver[T any](to chan<- T, v T, f func() T) {
	defer func() { to <- v }()
	v = f()
}

// giveBack frees a member whose hold is not wanted. What is not confirmed within the
// members' limit goes on in the background, as a matter of the member's Client. So it
// does at once if ctx has ended.
func (l *MultiLock) giveBack(ctx context.Context, t reentrant.Tenure) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.limit)
	defer cancel()
	_ = t.Release(ctx)
}
