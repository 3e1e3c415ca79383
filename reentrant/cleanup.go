package reentrant

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/lua"
)

// How often clean-up tries while Redis does not answer.
const (
	cleanUpPause = 50 * time.Millisecond
	cleanUpLast  = time.Second

	// cleaners is how many clean-up commands of a Client are in flight at once (cleanupqueue.go).
	cleaners = 16
)

// cleanUp frees, in the background, what Redis may hold for an owner that holds
// nothing any more, until Redis has confirmed or the key has expired. If the owner
// has got the lock anew meanwhile, there is nothing to clean: its commands carry an
// epoch. The caller has lockState.mu.
func (s *lockState) cleanUp(owner string, expires time.Time) { s.cleanUpTo(owner, nil, expires) }

// cleanUpTo is cleanUp of an owner that leaves the lock by a parting, if that is not nil.
func (s *lockState) cleanUpTo(owner string, to *parting, expires time.Time) {
	s.inTurn(expires, func(ctx context.Context, t turn) (done bool) {
		s.mu.Lock()
		o := s.holder
		again := o != nil && (o.owner == owner || o.lease.field.standsFor(owner))
		s.mu.Unlock()
		if again {
			return true
		}
		_, _, err := t.free(ctx, s.c.single, owner, to)
		if err == nil {
			s.mu.Lock()
			if s.wakeups != nil {
				s.wakeups.signal(byMessage) // our own head may be waiting for this very lock
			}
			s.mu.Unlock()
		}
		return err == nil || lua.ForeignKey(err)
	})
}

// repairCount brings the hold count in Redis in line, in the background, after a
// command for it was not answered. The caller has lockState.mu.
func (s *lockState) repairCount(o *ownership) {
	s.inTurn(time.Now().Add(s.c.cfg.lease), func(ctx context.Context, t turn) (done bool) {
		if err := s.syncFieldNow(ctx, t, o); err != nil {
			return errors.Is(err, errSuperseded)
		}
		_, _, err := t.setCount(ctx, s.c.single, o.owner, maxRetries, o.countNow)
		return err == nil || lua.ForeignKey(err)
	})
}

// leaveRegistry takes this Client out of the registry of waiters once nobody waits here. A
// wake-up that was on its way to us goes on to the next. The caller has lockState.mu.
func (s *lockState) leaveRegistry() {
	if s.since == 0 || s.waiters.first != nil || s.holder != nil {
		return
	}
	s.inTurn(time.Now().Add(registryTTL), func(ctx context.Context, _ turn) (done bool) {
		s.mu.Lock()
		needed := s.since != 0 && s.waiters.first == nil
		s.mu.Unlock()
		if !needed {
			return true
		}
		if err := lua.Leave(ctx, s.c.single, &s.keys, s.c.id, s.c.wakeUp()); err != nil {
			return !lua.Retryable(err)
		}
		s.mu.Lock()
		s.since = 0
		s.mu.Unlock()
		return true
	})
}

// take fills a place in a channel that counts, and reports false if ctx ends first.
func take(ctx context.Context, places chan<- struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// resumeListening listens again at once if the subscription of an earlier wait still
// lingers: then the first attempt can already register. The caller has lockState.mu.
func (s *lockState) resumeListening() {
	if s.wakeups == nil && s.c.hub.Confirmed(s.keys.Own()) {
		s.listen()
	}
}
