package reentrant

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/lua"
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
	if s.state.Following() {
		return false
	}
	s.syncing = false
	return true
}

// syncFieldNow moves the field in Redis to the owner of o, or of the present holder if o is nil. It returns
// errSuperseded if that is not live any more, also as Redis does not know the lease.
func (s *lockState) syncFieldNow(ctx context.Context, t turn, o *ownership) error {
	var of *lockstate.Ownership
	if o != nil {
		of = &o.Ownership
	}
	for {
		s.mu.Lock()
		next := s.state.NextSync(of, time.Now())
		s.mu.Unlock()
		var err error
		switch next.Step {
		case lockstate.Superseded:
			return errSuperseded
		case lockstate.Synced:
			return nil
		case lockstate.SendOne:
			err = s.syncCount(ctx, t, ownershipOf(next.Owner))
		case lockstate.SendMove:
			err = s.moveField(ctx, t, &next.Move)
		}
		if err != nil {
			return err
		}
		if o == nil && next.Step == lockstate.SendMove && !next.Move.Unknown {
			return nil // there may be another holder by now, and so on
		}
	}
}

// syncCount sends the hold count of a holder whose field still has the count of an earlier ownership.
func (s *lockState) syncCount(ctx context.Context, t turn, o *ownership) error {
	one := func() (int, time.Duration, bool) { return 1, 0, true }
	v, _, err := t.setCount(ctx, s.c.commands, o.Owner(), lockstate.MaxRetries, one)
	if notOurs(v, err) {
		s.lose(o.Lease(), lockstate.Overridden)
		return errSuperseded
	}
	if err == nil {
		s.mu.Lock()
		o.CountIsOne()
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
	behind := s.state.Unsynced()
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
func (s *lockState) moveField(ctx context.Context, t turn, m *lockstate.Move) error {
	sent := m.Sent
	g, before, err := t.transfer(ctx, s.c.commands, &lua.Transfer{From: m.From, To: m.To, Lease: s.c.cfg.lease}, &sent)
	if notOurs(g.Verdict, err) {
		s.lose(m.Lease, lockstate.Overridden)
		return errSuperseded
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Moved(m, err != nil, before, elsewhere(g), time.Now())
	return err
}
