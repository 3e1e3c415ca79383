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

// syncHolder takes the turn for syncFieldNow.
func (s *lockState) syncHolder() error {
	t := s.takeTurn()
	defer t.done()
	return s.syncFieldNow(s.c.ctx, t, nil)
}

// endSync ends syncField if there is nothing left to move, in one step: a hand-off after that
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

// synced reports whether the field in Redis is the holder's own, with its hold count. The caller has
// lockState.mu.
func (o *ownership) synced() bool { return o.lease.field.syncedFor(o) }

// syncFieldNow moves the field in Redis to the owner of o, or of the present holder if o is nil. It returns
// errSuperseded if that is not live any more, also as Redis does not know the lease.
func (s *lockState) syncFieldNow(ctx context.Context, t turn, o *ownership) error {
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
		if !l.field.moving() && l.field.owner == who.owner {
			s.mu.Unlock()
			if err := s.syncCount(ctx, t, who); err != nil {
				return err
			}
			continue
		}
		unknown := l.field.moving() // that move may have run, or may still: it comes first
		if !unknown {
			l.field.beginMove(who.owner, time.Now())
			s.c.watchdog.Retarget(&l.watch, l.target())
		}
		from, to := l.field.owner, l.field.next
		s.mu.Unlock()
		if err := s.moveField(ctx, t, l, from, to, unknown); err != nil {
			return err
		}
		if o == nil && !unknown {
			return nil // there may be another holder by now, and so on
		}
	}
}

// syncCount sends the hold count of a holder whose field still has the count of an earlier ownership.
func (s *lockState) syncCount(ctx context.Context, t turn, o *ownership) error {
	v, _, err := t.setCount(ctx, s.c.commands, o.owner, maxRetries, func() (int, time.Duration, bool) { return 1, 0, true })
	if notOurs(v, err) {
		s.lose(o.lease, Overridden)
		return errSuperseded
	}
	if err == nil {
		s.mu.Lock()
		o.lease.field.counted(o, false)
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
		t := s.takeTurn()
		defer t.done()
		if err := s.syncFieldNow(ctx, t, nil); !errors.Is(err, errSuperseded) {
			return err
		}
	}
	return nil
}

// moveField moves the field of a lease.
func (s *lockState) moveField(ctx context.Context, t turn, l *lease, from, to string, unknown bool) error {
	lease := s.c.cfg.lease
	sent := l.field.moveSent
	g, before, err := t.transfer(ctx, s.c.commands, &lua.Transfer{From: from, To: to, Lease: lease}, &sent)
	if notOurs(g.Verdict, err) {
		s.lose(l, Overridden)
		return errSuperseded
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l.asked(lease, holdKind{})
	switch {
	case err == nil:
		l.field.moved()
		s.budget.learn(g, time.Now())
	case !before && !unknown:
		l.field.notMoved()
	default:
		return err
	}
	s.c.watchdog.Retarget(&l.watch, l.target())
	if err == nil {
		// Counted from the first try that may have run: a second one finds the field
		// moved and leaves the TTL as it is.
		if o := s.holder; o != nil && o.lease == l && o.state == live && o.extension(lease) > 0 {
			s.c.watchdog.Update(&l.watch, o.schedule(watchdog.Validity(l.field.moveSent, lease)))
		}
	}
	return err
}
