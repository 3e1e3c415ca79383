package multilock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/multi"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// stopped is a member whose process is stopped right after a grant, before it can ask the server who it is.
type stopped struct {
	*reentrant.Lock
	afterGrant func()
}

func (s stopped) Member() multi.Member { return stoppedMember{s.Lock.Member(), s.afterGrant} }

type stoppedMember struct {
	multi.Member
	afterGrant func()
}

func (m stoppedMember) Take(ctx context.Context, terms multi.Terms) (multi.Tenure, error) {
	tenure, err := m.Member.Take(ctx, terms)
	if err == nil {
		m.afterGrant()
	}
	return tenure, err
}

// A process is stopped between a member's grant and the question who its server is, for longer than the longest
// lease, and has a fixed lease that is longer still. The server has restarted meanwhile, and is old enough again: what
// it says proves nothing of the grant.
func TestFault57AskedLateAfterTheGrant(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		a, b := v.process(), v.process()
		locks := a.locks(name)
		for i := range 2 {
			stops := true
			locks[i] = stopped{a[i].NewLock(name), func() {
				if stops {
					stops = false
					time.Sleep(4 * lease)
				}
			}}
		}
		time.AfterFunc(lease/10, v.s[0].restart)
		la, err := multilock.NewQuorumWith(locks)
		must(t, err)
		v.s[2].refuse("ERR down")
		hold, err := la.Acquire(as(v.ctx, "a"), reentrant.WithFixedLease(time.Minute))
		v.s[2].refuse("")
		lb := b.quorum(t, name)
		ok, _ := lb.TryLock(as(v.ctx, "b"), 0, 0)
		if ok && err == nil && hold.Context().Err() == nil && hold.ValidUntil().After(time.Now()) {
			t.Errorf("two hold it: a for %v more", time.Until(hold.ValidUntil()))
		}
		if err != nil && !errors.Is(err, multilock.ErrQuarantined) {
			t.Errorf("%v, want ErrQuarantined", err)
		}
		if err == nil {
			_ = hold.Release(v.ctx)
		}
		if ok {
			must(t, lb.Unlock(as(v.ctx, "b")))
		}
	})
}
