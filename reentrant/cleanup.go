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
	s.background(expires, func(ctx context.Context) (done bool) {
		s.mu.Lock()
		o := s.holder
		again := o != nil && (o.owner == owner || o.lease.standsFor(owner))
		s.mu.Unlock()
		if again {
			return true
		}
		epochSet := true
		_, _, err := s.sendRepeated(func(order lua.Order) (lua.Granted, error) {
			verdict, set, err := s.freeing(ctx, s.c.single, owner, to, order)
			epochSet = set || order.Epoch == 0
			return lua.Granted{Verdict: verdict}, err
		})
		if err == nil && !epochSet {
			s.doubt = true
		}
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
	s.background(time.Now().Add(s.c.cfg.lease), func(ctx context.Context) (done bool) {
		if err := s.syncFieldNow(ctx, o); err != nil {
			return errors.Is(err, errSuperseded)
		}
		_, _, err := s.sendRepeated(func(order lua.Order) (lua.Granted, error) {
			s.mu.Lock()
			count, state := o.count, o.state
			if state == live {
				o.lease.countOf, o.lease.nested = o, true
			}
			s.mu.Unlock()
			if state != live {
				return lua.Granted{}, errSuperseded
			}
			return lua.Count{Owner: o.owner, Count: count, Order: order}.Run(ctx, s.c.single, &s.keys)
		})
		return err == nil || lua.ForeignKey(err)
	})
}

// leaveRegistry takes this Client out of the registry of waiters once nobody waits here. A
// wake-up that was on its way to us goes on to the next. The caller has lockState.mu.
func (s *lockState) leaveRegistry() {
	if s.since == 0 || s.waiters.first != nil || s.holder != nil {
		return
	}
	s.background(time.Now().Add(registryTTL), func(ctx context.Context) (done bool) {
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

// background repeats a command, with the wire, until it is done or its time is
// over. The caller has lockState.mu.
func (s *lockState) background(until time.Time, command func(context.Context) (done bool)) {
	s.c.cleanups.add(&cleanup{s: s, at: time.Now(), until: until, try: func(ctx context.Context) (done bool) {
		if !take(ctx, s.wire) {
			return true
		}
		defer func() { <-s.wire }()
		return ctx.Err() != nil || command(ctx) // take goes either way when both are ready
	}})
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
