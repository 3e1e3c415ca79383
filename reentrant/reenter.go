package reentrant

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/watchdog"
)

// errOwnershipEnded: the ownership ended before it could be entered again.
var errOwnershipEnded = errors.New("ownership has ended")

// reenter adds a hold to a live ownership. It returns errOwnershipEnded if an
// unlock has ended that meanwhile: the call then has to queue.
func (o *ownership) reenter(ctx context.Context, r request) error {
	s, x := o.s, &reentry{h: o, request: r}
	limit, stop := r.limit()
	defer stop()
	why := s.c.inquire(&r, s.keys.Lock)
	defer why.stop()
	returned := false
	defer func() {
		if !returned { // a hook of go-redis or an event function has ended the goroutine
			_ = x.leave(ctx, errAborted)
		}
	}()
	interrupted := s.call(ctx, limit, nil, func(ctx context.Context) {
		t := s.takeTurn()
		defer t.done()
		x.run(ctx, t)
	})
	returned = true
	switch {
	case interrupted == nil:
		return x.err
	case errors.Is(interrupted, ErrClosed):
		return ErrClosed
	case errors.Is(interrupted, errAborted):
		return x.leave(ctx, errAborted)
	case ctx.Err() != nil:
		return x.leave(ctx, whyEnded(ctx))
	}
	err := x.leave(ctx, errNoAnswer) // in time: it was the limit
	if err == errNoAnswer {
		return why.noAnswer()
	}
	return err
}

// reentry is one nested call on its way.
type reentry struct {
	h *ownership
	request

	told entry // written with the turn

	// Guarded by lockState.mu: they decide the race between the answer and the end of
	// ctx.
	entered bool // the hold was added
	gone    bool // the call has left
	err     error
}

// run sends the command and settles its answer.
func (x *reentry) run(ctx context.Context, t turn) {
	returned := false
	defer func() {
		if !returned {
			_ = x.settle(0, errAborted)
		}
	}()
	v, err := x.tell(ctx, t)
	returned = true
	if lost := x.settle(v, err); lost != nil {
		x.h.tellLost(lost)
	}
	if x.entered && !x.h.s.c.mute {
		x.tellReentered()
	}
}

func (x *reentry) tellReentered() {
	c, e := x.h.s.c, Event{
		Ctx: x.ctx, Name: x.h.s.name, Owner: x.h.owner, Count: x.told.count, Token: x.h.token, Waited: time.Since(x.began),
	}
	x.h.inform(func() { c.reentered(e) })
}

// settle enters the hold, or says why not. It returns the loss that it has found, to be told.
func (x *reentry) settle(v lua.Verdict, err error) (lost *LostError) {
	o, s := x.h, x.h.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if !x.told.sent.IsZero() {
		o.lease.asked(x.lease, x.holdKind)
	}
	switch {
	case x.gone && x.told.sent.IsZero():
		err = errInterrupted // and Redis was told nothing
	case o.state != live:
		err = errOwnershipEnded
		if errors.Is(o.err, ErrLost) {
			err = o.err
			if !x.told.sent.IsZero() && v != lua.NotHeld {
				// The lease was extended for nobody, or may have been: a
				// command without an answer may have run, or may still.
				o.lease.cleanUp(o.lease.expiry())
			}
		}
	case err != nil:
		o.lease.extendedForNobody = true
		s.repairCount(o)
	case x.gone:
		err = errInterrupted
		o.lease.extendedForNobody = true
		s.repairCount(o)
	case !o.push(x.holdKind, watchdog.Validity(x.told.sent, x.told.lease)):
		// Who is told that it holds the lock must not hear of the loss only then.
		o.lease.extendedForNobody = true
		o.lease.by = x.ctx
		lost = o.endLost(LeaseEnded)
		err = lost
	default:
		x.entered = true
	}
	x.err = err
	return lost
}

// leave is for a call that does not wait for its answer any more, and says with what it ends.
func (x *reentry) leave(ctx context.Context, why error) error {
	o, s := x.h, x.h.s
	closed := false
	defer func() {
		if closed {
			o.tellClosed()
		}
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	x.gone = true
	switch {
	case x.entered && errors.Is(o.err, ErrLost):
		s.forgetLoss(o, x.holdKind) // the caller has no hold to release
		return o.err
	case x.entered && o.state == live && why == errNoAnswer:
		return nil // at this very moment
	case x.entered:
		closed = s.giveBack(context.WithoutCancel(ctx), o, x.holdKind, why)
	}
	return why
}

// extension is by how much a re-entry with that lease may extend the lock: not at
// all once WithMaxHold has ended renewal, of which it would be a kind.
func (o *ownership) extension(lease time.Duration) time.Duration {
	if limit := o.s.c.cfg.maxHold; limit > 0 && time.Since(o.since) >= limit {
		return 0
	}
	return lease
}

// entry is what Redis was told of a nested hold, by the last try.
type entry struct {
	count int           // with it
	lease time.Duration // 0: the TTL is left; of each try, as WithMaxHold's limit may have come since the last
	sent  time.Time     // zero: Redis was told nothing
}

// tell sends the hold count with one hold more, unless the caller is gone: then the
// same goroutine may have entered by another call already, and would be counted twice. The turn
// keeps the count from rising until the answer.
func (x *reentry) tell(ctx context.Context, t turn) (v lua.Verdict, err error) {
	o, s := x.h, x.h.s
	if err := s.syncFieldNow(ctx, t, o); err != nil {
		if errors.Is(err, errSuperseded) {
			err = nil // the caller finds the ownership at its end
		}
		return v, err
	}
	retries := maxRetries
	if x.quick > 0 {
		retries = 0
	}
	v, _, err = t.setCount(ctx, s.c.commands, o.owner, retries, func() (int, time.Duration, bool) {
		if o.state != live || x.gone {
			return 0, 0, false
		}
		o.lease.field.counted(o, true)
		o.lease.asked(x.lease, x.holdKind) // a release that is not confirmed has to reckon with it already
		x.told = entry{count: o.count + 1, lease: o.extension(x.lease), sent: time.Now()}
		return x.told.count, x.told.lease, true
	})
	if notOurs(v, err) {
		s.lose(o.lease, Overridden)
	}
	if lua.ForeignKey(err) {
		err = s.c.foreign(ctx, s.name, s.keys.Lock, err)
	}
	return v, err
}
