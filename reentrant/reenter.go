package reentrant

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/lua"
)

// errOwnershipEnded: the ownership ended before it could be entered again.
var errOwnershipEnded = errors.New("ownership has ended")

// reenter adds a hold to a live ownership. It returns errOwnershipEnded if an unlock has ended the
// ownership meanwhile: then the call has to join the wait queue.
func (o *ownership) reenter(ctx context.Context, r request) error {
	s, x := o.s, &reentry{h: o, request: r}
	x.core = lockstate.Reentry{Of: &o.Ownership, Kind: r.HoldKind, Lease: r.Lease}
	limit, stop := r.limit(r.Began)
	defer stop()
	why := s.c.inquire(r.quick, s.keys.Lock)
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

	core    lockstate.Reentry // guarded by lockState.mu
	entered bool              // the hold was added; written with the turn
	err     error             // guarded by lockState.mu
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
		Ctx: x.ctx, Call: x.number, Name: x.h.s.name, Kind: x.h.eventKind(), Owner: x.h.Owner(), Count: x.core.Count, Token: x.h.Token(), Waited: time.Since(x.Began),
	}
	x.h.inform(func() { c.reentered(e) })
}

// settle adds the hold, or says why not. It returns the loss that it has found, which the caller tells.
func (x *reentry) settle(v lua.Verdict, err error) (lost *LostError) {
	o, s := x.h, x.h.s
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.state.Settle(&x.core, err != nil, v == lua.NotHeld, time.Now()) {
	case lockstate.Added:
		x.entered = true
	case lockstate.Interrupted:
		err = errInterrupted
	case lockstate.Over:
		err = errOwnershipEnded
	case lockstate.WasLost:
		err = o.err
	case lockstate.LostNow:
		leaseOf(o.Lease()).by = x.ctx
		lost = o.lossErr()
		err = lost
	}
	x.err = err
	return lost
}

// leave ends a call that does not wait for its answer any more, and returns the call's error.
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
	switch s.state.LeaveReentry(&x.core, why == errNoAnswer) {
	case lockstate.WasLost:
		return o.err
	case lockstate.Kept:
		return nil // the answer came at the limit
	case lockstate.Returned:
		closed = s.giveBack(context.WithoutCancel(ctx), o, x.HoldKind)
	}
	return why
}

// tell sends the hold count with one hold more, unless the call has left or the ownership has ended.
func (x *reentry) tell(ctx context.Context, t turn) (v lua.Verdict, err error) {
	o, s := x.h, x.h.s
	if err := s.syncFieldNow(ctx, t, o); err != nil {
		if errors.Is(err, errSuperseded) {
			err = nil // settle sees that the ownership has ended
		}
		return v, err
	}
	retries := lockstate.MaxRetries
	if x.Once {
		retries = 0
	}
	v, _, err = t.setCount(ctx, s.c.commands, o.Owner(), retries, func() (int, time.Duration, bool) {
		ok := x.core.Send(time.Now())
		return x.core.Count, x.core.Ask, ok
	})
	if notOurs(v, err) {
		s.lose(o.Lease(), lockstate.Overridden)
	}
	if lua.ForeignKey(err) {
		err = s.c.foreign(ctx, s.name, s.keys.Lock, err)
	}
	return v, err
}
