package reentrant

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/watchdog"
)

const (
	// followPause is the least time between two commands that move the field after a
	// holder. Owners that come and go in it are skipped.
	followPause = 5 * time.Millisecond
	// followLast is the longest, while Redis does not answer or refuses.
	followLast = time.Second
)

// syncField has the field in Redis follow the holder, in the background: to the present one
// at once, and again while it keeps changing. The caller has lockState.mu.
func (s *lockState) syncField() {
	if s.syncing {
		return
	}
	s.syncing = s.goBackground(func() {
		returned := false
		defer func() {
			if !returned { // a hook of go-redis has ended the goroutine: the next hand-off begins another one
				s.mu.Lock()
				defer s.mu.Unlock()
				s.syncing = false
			}
		}()
		for pause := followPause; ; {
			err := s.syncHolder()
			if err != nil && !errors.Is(err, errSuperseded) {
				pause = min(2*pause, followLast)
			} else {
				pause = followPause
			}
			s.c.pauseOpen(pause)
			if s.endSync() {
				returned = true
				return
			}
		}
	})
}

// syncHolder is align for a caller that does not have the wire.
func (s *lockState) syncHolder() error {
	s.wire <- struct{}{}
	defer func() { <-s.wire }()
	return s.syncFieldNow(s.c.ctx, nil)
}

// endSync ends follow if there is nothing left to move, in one step: a hand-off after it
// begins another one.
func (s *lockState) endSync() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.holder; o != nil && o.state == live && !o.synced() && !s.c.isClosing() {
		return false
	}
	s.syncing = false
	return true
}

// synced reports whether the field in Redis is the holder's own, and not one that was left
// with a hold count by an earlier tenure of the same owner. The caller has lockState.mu.
func (o *ownership) synced() bool {
	l := o.lease
	return l.next == "" && l.field == o.owner && (l.countOf == o || !l.nested)
}

// syncFieldNow moves the field in Redis to the owner of h, or of whoever is the holder if h is nil.
// It returns errSuperseded if that is not live any more, and the holder's loss if Redis does not know
// the lease. The caller has the wire.
func (s *lockState) syncFieldNow(ctx context.Context, o *ownership) error {
	for {
		s.mu.Lock()
		who := s.holder
		if who == nil || who.state != live || o != nil && o != who {
			s.mu.Unlock()
			return errSuperseded
		}
		if who.synced() {
			s.mu.Unlock()
			return nil
		}
		l := who.lease
		if l.next == "" && l.field == who.owner {
			s.mu.Unlock()
			if err := s.syncCount(ctx, who); err != nil {
				return err
			}
			continue
		}
		doubted := l.next != "" // that move may have run, or may still: it comes first
		if !doubted {
			l.next, l.moveSent = who.owner, time.Now()
			s.c.watchdog.Retarget(&l.watch, l.target())
		}
		from, to := l.field, l.next
		s.mu.Unlock()
		if err := s.moveField(ctx, l, from, to, doubted); err != nil {
			return err
		}
		if o == nil && !doubted {
			return nil // there may be another holder by now, and so on
		}
	}
}

// syncCount tells the hold count of a holder whose field stands with that of an earlier tenure.
func (s *lockState) syncCount(ctx context.Context, o *ownership) error {
	g, _, err := s.sendRepeated(func(order lua.Order) (lua.Granted, error) {
		return lua.Count{Owner: o.owner, Count: 1, Order: order}.Run(ctx, s.c.commands, &s.keys)
	})
	if lua.ForeignKey(err) || err == nil && g.Verdict == lua.NotHeld {
		s.lose(o.lease, Overridden)
		return errSuperseded
	}
	if err == nil {
		s.mu.Lock()
		o.lease.countOf, o.lease.nested = o, false
		s.mu.Unlock()
	}
	return err
}

// syncFieldFirst moves the field in Redis to the holder of this Client, if there is one, before
// a query.
func (l *Lock) syncFieldFirst(ctx context.Context) error {
	s := l.c.findState(l)
	if s == nil {
		return nil
	}
	defer s.dropUser()
	s.mu.Lock()
	behind := s.holder != nil && s.holder.state == live && !s.holder.synced()
	s.mu.Unlock()
	if behind {
		s.wire <- struct{}{}
		defer func() { <-s.wire }()
		if err := s.syncFieldNow(ctx, nil); !errors.Is(err, errSuperseded) {
			return err
		}
	}
	return nil
}

// moveField moves the field of a lease.
func (s *lockState) moveField(ctx context.Context, l *lease, from, to string, doubted bool) error {
	lease := s.c.cfg.lease
	g, unanswered, err := s.sendRepeated(func(order lua.Order) (lua.Granted, error) {
		return lua.Transfer{From: from, To: to, Lease: lease, Order: order, Wake: s.c.wakeUp()}.
			Run(ctx, s.c.commands, &s.keys)
	})
	if lua.ForeignKey(err) || err == nil && g.Verdict == lua.NotHeld {
		s.lose(l, Overridden)
		return errSuperseded
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l.asked(lease, holdKind{})
	switch {
	case err == nil:
		l.field, l.next, l.nested = to, "", false
		s.budget.learn(g, time.Now())
	case !unanswered && !doubted:
		l.next = "" // has not run
	default:
		return err
	}
	s.c.watchdog.Retarget(&l.watch, l.target())
	if err == nil {
		// Counted from the first try that may have run: a second one finds the field
		// moved and leaves the TTL as it is.
		if o := s.holder; o != nil && o.lease == l && o.state == live && o.extension(lease) > 0 {
			s.c.watchdog.Update(&l.watch, o.schedule(watchdog.Validity(l.moveSent, lease)))
		}
	}
	return err
}
