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

// reenter adds a hold to a live ownership. It returns errOwnershipEnded if an unlock has ended the
// ownership meanwhile: then the call has to join the wait queue.
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
	err := x.leave(ctx, errNoAnswer) // ctx has not ended, so the limit has fired
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

	// Guarded by lockState.mu. The call may leave at the moment of the answer; these decide which came
	// first.
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

// tellReentered tells the event Reentered.
func (x *reentry) tellReentered() {
	c, e := x.h.s.c, Event{
		Ctx: x.ctx, Name: x.h.s.name, Owner: x.h.owner, Count: x.told.count, Token: x.h.token, Waited: time.Since(x.began),
	}
	x.h.inform(func() { c.reentered(e) })
}

// settle adds the hold, or says why not. It returns the loss that it has found, which the caller tells.
func (x *reentry) settle(v lua.Verdict, err error) (lost *LostError) {
	o, s := x.h, x.h.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if !x.told.sent.IsZero() {
		o.lease.asked(x.lease, x.holdKind)
	}
	switch {
	case x.gone && x.told.sent.IsZero():
		err = errInterrupted // the call left before the command was sent
	case o.state != live:
		err = errOwnershipEnded
		if errors.Is(o.err, ErrLost) {
			err = o.err
			if !x.told.sent.IsZero() && v != lua.NotHeld {
				// The command may have extended the lease: it has run, may have run, or may still run. No
				// call has a hold from it, so a clean-up frees the lock.
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
		// The validity ended before the answer came. The call must hear of the loss now, and not after it
		// was told that it holds the lock.
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

// leave ends a call that does not wait for its answer any more, and returns the call's error. If the hold
// was added at this very moment, a call that has reached its limit keeps it. Any other call gives it
// back.
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
		s.forgetLoss(o, x.holdKind) // the caller has got no hold, and will not release one
		return o.err
	case x.entered && o.state == live && why == errNoAnswer:
		return nil // the answer came at the limit
	case x.entered:
		closed = s.giveBack(context.WithoutCancel(ctx), o, x.holdKind, why)
	}
	return why
}

// extension returns the lease that a re-entry may ask for. It is 0 once WithMaxHold has ended renewal: a
// longer lease would be a renewal too.
func (o *ownership) extension(lease time.Duration) time.Duration {
	if limit := o.s.c.cfg.maxHold; limit > 0 && time.Since(o.since) >= limit {
		return 0
	}
	return lease
}

// entry is what the last try told Redis of a nested hold.
type entry struct {
	count int           // the hold count, the nested hold included
	lease time.Duration // 0: the TTL stays; WithMaxHold may end between two tries
	sent  time.Time     // zero: Redis was told nothing
}

// tell sends the hold count with one hold more. It sends nothing if the caller has left. Otherwise this
// could happen:
//
//  1. The caller leaves before its command was sent.
//  2. The same goroutine enters the lock by another call.
//  3. The first command is sent, and counts the goroutine twice.
//
// The turn keeps the count from rising until the answer.
func (x *reentry) tell(ctx context.Context, t turn) (v lua.Verdict, err error) {
	o, s := x.h, x.h.s
	if err := s.syncFieldNow(ctx, t, o); err != nil {
		if errors.Is(err, errSuperseded) {
			err = nil // settle sees that the ownership has ended
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
		o.lease.asked(x.lease, x.holdKind) // an unconfirmed release has to reckon with this lease already
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
