package multilock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/multi"
	"github.com/redlatch/redlatch/watchdog"
)

// attempt makes a single attempt on a member, and then checks its server. Each has the members'
// limit. When it returns, the member is held with a proof, is free, or is being freed.
func (l *MultiLock) attempt(ctx context.Context, m *member, lease time.Duration) memberHold {
	if err := l.quarantined(m); err != nil {
		return memberHold{m: m, err: err}
	}
	limited, cancel := context.WithTimeoutCause(ctx, l.cfg.limit, errSilent)
	defer cancel()
	asked := time.Now()
	tenure, err := m.Take(limited, multi.Terms{Limited: true, Lease: lease})
	if err != nil {
		return l.refused(limited, m, err)
	}
	defer func() { m.noteResponseTime(time.Since(asked)) }()
	return l.proven(ctx, m, tenure, lease)
}

// await waits for a member until ctx ends, and is otherwise as attempt. The limit of the call does
// not end ctx. The member has the same limit, and reports at its end whether it is busy or Redis was
// silent.
func (a *acquisition) await(ctx context.Context, m *member) memberHold {
	if err := a.l.quarantined(m); err != nil {
		return memberHold{m: m, err: err}
	}
	terms := multi.Terms{Lease: a.terms.Lease}
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
	return a.l.proven(limited, m, tenure, a.terms.Lease)
}

// refused is the result for a member that was not granted.
func (l *MultiLock) refused(ctx context.Context, m *member, err error) memberHold {
	err = l.explain(ctx, err)
	m.noteSilence(err)
	return memberHold{m: m, err: err}
}

// proven checks the server of a member that was granted. If the check fails, the member is given back
// in what is left of the limit. After silence nothing is left, and it is freed in the background. lease is the fixed
// lease of the grant; 0: it is renewed.
func (l *MultiLock) proven(ctx context.Context, m *member, t multi.Tenure, lease time.Duration) memberHold {
	limited, cancel := context.WithTimeoutCause(ctx, l.cfg.limit, errSilent)
	defer cancel()
	p, err := l.checkServer(limited, m)
	if err == nil && !p.forever && l.askedLate(t, lease) {
		err = errAskedLate
	}
	if err != nil {
		_ = t.Release(limited)
		return memberHold{m: m, err: err}
	}
	return memberHold{m: m, tenure: t, proof: p}
}

// askedLate reports whether the answer of a server, which has come by now, may be about another start of the server
// than the grant: the time since the grant is enough for a restart and for the quarantine after it. That takes a
// process that was stopped in between, and a fixed lease that has lasted: a renewed one is over by then, or was
// confirmed since by a server that has not forgotten it.
func (l *MultiLock) askedLate(t multi.Tenure, lease time.Duration) bool {
	if lease == 0 {
		return false
	}
	granted := t.ValidUntil().Add(watchdog.Drift(lease) - lease) // not before the command was sent
	return watchdog.Passed(granted.Add(l.cfg.quarantine()))
}

// explain gives the error of an attempt its reason: the member was silent, or the round was decided
// without it. If neither ended the attempt, err stays as it is.
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

// errAborted: a hook of go-redis or an event function has called runtime.Goexit. The member's Client
// gives back what it was granted.
var errAborted = errors.New("redlatch: the goroutine was ended by a hook or an event function")

// deliver sends the result of f. f runs code of the program's, which may end the goroutine
// (runtime.Goexit). Then it sends v: a goroutine waits for a result.
func deliver[T any](to chan<- T, v T, f func() T) {
	defer func() { to <- v }()
	v = f()
}

// giveBack frees a member that the MultiLock does not want to hold. If Redis does not confirm that
// within the members' limit, the member's Client goes on in the background. It does so at once if ctx
// has ended.
func (l *MultiLock) giveBack(ctx context.Context, t multi.Tenure) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.limit)
	defer cancel()
	_ = t.Release(ctx)
}
