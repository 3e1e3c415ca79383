package reentrant

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/lua"
)

// Renewed reads of one Client share a lease: one field and one marker in Redis, one renewal. Package lockstate has
// the root, which Redis knows, and the readers, which it does not (lockstate/sharing.go). Here is what the engine
// does for them beside what it does for any ownership.

// sharedField is the field that a call's owner has together with other readers of the Client; empty: it has one of its own.
//
//   - A fixed lease ends by itself, and its field with it.
//   - WithMaxHold ends the renewal of each hold by itself.
//   - A member of a MultiLock is proven, restarted and freed by itself.
func (l *Lock) sharedField(r *request) string {
	if !l.kind.twoModes || l.mode != lockstate.Shared || r.Fixed || r.member || l.c.cfg.maxHold > 0 {
		return ""
	}
	return l.c.readersField
}

// Shares implements [lockstate.Engine].
func (e *engine) Shares(root *lockstate.Ownership) {
	e.c.roots.Add(1)
	ownershipOf(root).pending = announced // its renewals are told, and nothing else
}

// EndAt implements [lockstate.Engine].
func (e *engine) EndAt(of *lockstate.Ownership, at time.Time) {
	s := (*lockState)(e)
	if now := time.Now(); at.Before(now) {
		at = now // the fixed lease was over long before: from then on, the limit of the clean-up would be over, too
	}
	s.c.cleanups.add(&cleanup{s: s, at: at, until: at.Add(s.c.cfg.lease), spare: true, try: func(context.Context) (done bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.state.FixedHoldsOver(of, time.Now())
		return true
	}})
}

// reader makes an ownership on a shared lease.
func (s *lockState) reader(l *lockstate.Lease) *lockstate.Ownership {
	s.c.work.Add(1) // before held, as for any ownership
	s.c.held.Add(1)
	s.addUser()
	o := &ownership{s: s}
	return o.bind(l)
}

// sent is the ownership that a release is sent for: o, or the root if o was the last reader of a shared lease.
func (o *ownership) sent() *ownership {
	if !o.Reader() {
		return o
	}
	return ownershipOf(o.Lease().Root())
}

// leaves notes that o is the owner whose release is sent, and by which call. The caller has lockState.mu.
func (o *ownership) leaves(ctx context.Context) {
	l := leaseOf(o.Lease())
	l.by = ctx
	if o.Reader() {
		l.leaver = o
	}
}

// told is the ownership that events and errors of a release are about.
func (o *ownership) told() *ownership {
	if by := leaseOf(o.Lease()).leaver; by != nil {
		return by
	}
	return o
}

// admitted tells that an owner was admitted to the shared lease without a command of its own.
func (o *ownership) admitted(r *caller, began time.Time) {
	c := o.s.c
	c.counters.acquired.Add(1)
	c.counters.shared.Add(1)
	if c.mute {
		return
	}
	o.announce(r.number, func() {
		c.acquired(Event{
			Ctx: r.ctx, Call: r.number, Name: o.s.name, Kind: o.eventKind(), Owner: o.Owner(), How: HowShared, Waited: time.Since(began),
		})
	})
}

// nested tells that a reader has one hold more.
func (o *ownership) nested(r *request, count int) {
	if c := o.s.c; !c.mute {
		e := Event{Ctx: r.ctx, Call: r.number, Name: o.s.name, Kind: o.eventKind(), Owner: o.Owner(), Count: count, Waited: time.Since(r.Began)}
		o.inform(func() { c.reentered(e) })
	}
}

// left tells that a reader has ended while others go on with the lease.
func (o *ownership) left(ctx context.Context) {
	if c := o.s.c; !c.mute {
		e := Event{Ctx: ctx, Name: o.s.name, Kind: o.eventKind(), Owner: o.Owner(), Held: time.Since(o.Since())}
		o.inform(func() {
			e.Call = o.call
			c.observer.released(e)
		})
	}
}

// tellFound tells a loss that a decision has found. The losses of readers are told by tellLostReaders, and the root has
// none to tell.
func (o *ownership) tellFound(err *LostError) {
	if !o.Reader() && !o.Root() {
		o.tellLost(err)
	}
}

// loseReader has the loss of a reader told. One goroutine tells them all: the caller has lockState.mu.
func (s *lockState) loseReader(o *ownership) {
	s.lostReaders = append(s.lostReaders, o)
	if len(s.lostReaders) == 1 && !s.goBackground(s.tellLostReaders) {
		s.lostReaders = nil // the Client is closed
	}
}

func (s *lockState) tellLostReaders() {
	for {
		s.mu.Lock()
		if len(s.lostReaders) == 0 {
			s.mu.Unlock()
			return
		}
		o := s.lostReaders[0]
		lost := o.lossErr()
		s.mu.Unlock()
		mustReturn(func() { o.tellLost(lost) })
		s.mu.Lock()
		s.lostReaders = s.lostReaders[1:] // last: while there is one, this goroutine goes on
		s.mu.Unlock()
	}
}

// unlockReaderAfter is Hold.ReleaseAfter for a reader of a shared lease: a field of nobody's, with a marker of
// its own, joins the field of the readers. Then the hold is released as any.
func (s *lockState) unlockReaderAfter(ctx context.Context, id identity, handle *handle, after time.Duration) error {
	s.mu.Lock()
	o, until := handle.h, time.Now().Add(after)
	if o.live() && !handle.released && o.Count() > 1 {
		s.mu.Unlock()
		return fmt.Errorf("%w: %q has %d of %s", ErrNested, s.name, o.Count(), o.Owner())
	}
	live := o.live() && !handle.released
	s.mu.Unlock()
	var failed error
	if live {
		failed = s.keepReading(ctx, handle.member, until)
	}
	if err := s.unlock(ctx, id, handle, 0); err != nil || failed == nil {
		return err
	}
	return &UnconfirmedError{Name: s.name, Owner: o.Owner(), Err: failed}
}

// keepReading writes the field of nobody's. The hold's lease is in Redis meanwhile.
func (s *lockState) keepReading(ctx context.Context, member bool, until time.Time) error {
	var limit <-chan time.Time
	if !member {
		waiting, timer := s.c.releaseWait(ctx)
		if timer != nil {
			defer s.c.giveTimer(timer)
			limit = timer.C
		}
		ctx = waiting
	}
	field, nobody := s.c.readersField, s.c.nobody()
	result := make(chan error, 1)
	err := s.call(ctx, limit, nil, func(ctx context.Context) {
		t := s.takeTurn()
		defer t.done()
		_, _, err := t.send(func(order lua.Order) (lua.Verdict, error) {
			left := max(time.Millisecond, time.Until(until))
			v, _, err := s.kind.linger(ctx, s.c.commands, &s.keys, lua.Linger{Owner: field, Nobody: nobody, While: left, Keep: true, Order: order, Wake: s.c.wakeUp()})
			return v, err
		})
		result <- err
	})
	switch {
	case err == nil:
		return <-result
	case errors.Is(err, errInterrupted) && ctx.Err() == nil:
		return context.DeadlineExceeded
	case errors.Is(err, errInterrupted):
		return whyEnded(ctx)
	}
	return err
}
