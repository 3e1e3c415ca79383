package reentrant

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/lua"
)

// The pauses between the tries of a clean-up while Redis does not answer, doubling from the first to the
// last.
const (
	cleanUpPause = 50 * time.Millisecond
	cleanUpLast  = time.Second

	// cleaners is how many goroutines carry out the clean-ups of a Client at most (cleanupqueue.go).
	cleaners = 16
)

// cleanUp frees, in the background, the field that Redis may have for an owner that holds nothing any
// more. It goes on until Redis has confirmed or the key has expired. If the owner has taken the lock
// again meanwhile, there is nothing to clean up: the owner's commands carry an epoch. With a parting it
// leaves the lock to nobody. The caller has lockState.mu.
func (s *lockState) cleanUp(owner string, to *lockstate.Parting, expires time.Time) {
	s.inTurn(expires, func(ctx context.Context, t turn) (done bool) {
		s.mu.Lock()
		again := s.state.StandsFor(owner)
		s.mu.Unlock()
		if again {
			return true
		}
		_, _, err := t.free(ctx, s.c.single, owner, false, to)
		if err == nil {
			s.mu.Lock()
			if s.wakeups != nil {
				s.wakeups.signal(byMessage) // the first waiter here may wait for this very lock
			}
			s.mu.Unlock()
		}
		return err == nil || lua.ForeignKey(err)
	})
}

// freeAt has the state free a fixed lease at that time. The caller has lockState.mu.
func (s *lockState) freeAt(l *lockstate.Lease, at, until time.Time) {
	s.c.cleanups.add(&cleanup{s: s, at: at, until: until, spare: true, try: func(context.Context) (done bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.state.FixedLeaseOver(l, time.Now())
		return true
	}})
}

// repairCount tells Redis the hold count, in the background, after a command for it was not answered. The
// caller has lockState.mu or is a user of the lock state.
func (s *lockState) repairCount(o *ownership) {
	s.inTurn(time.Now().Add(s.c.cfg.lease), func(ctx context.Context, t turn) (done bool) {
		if err := s.syncFieldNow(ctx, t, o); err != nil {
			return errors.Is(err, errSuperseded)
		}
		_, _, err := t.setCount(ctx, s.c.single, o.Owner(), lockstate.MaxRetries, o.countNow)
		return err == nil || lua.ForeignKey(err)
	})
}

// leaveRegistry takes this Client out of the registry of waiters, in the background, once no call waits
// here. If a wake-up or a grant was on its way to this Client, the next one gets that. The caller has
// lockState.mu.
func (s *lockState) leaveRegistry() {
	s.inTurn(time.Now().Add(registryTTL), func(ctx context.Context, t turn) (done bool) {
		s.mu.Lock()
		needed, owners := s.state.NeedsLeave(), s.state.Grantees("")
		s.mu.Unlock()
		if !needed {
			return true
		}
		if err := t.leave(ctx, s.c.single, owners); err != nil {
			return !lua.Retryable(err)
		}
		s.mu.Lock()
		s.state.Left()
		s.mu.Unlock()
		return true
	})
}

// resumeListening listens again at once if the hub still has the subscription of an earlier wait: then
// the first attempt can register already. The caller has lockState.mu.
func (s *lockState) resumeListening() {
	if s.wakeups == nil && s.c.hub.Confirmed(s.kind.ownChannel(&s.keys)) {
		s.listen()
	}
}
