package reentrant

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/lua"
)

// launchedRelease is a release that was launched (launch.go). It has the turn.
type launchedRelease struct {
	s *lockState
	t turn
	o *ownership

	command lua.Release
	next    string // the other owner whose field may be there
	answer  *lua.Flight
}

// launchRelease launches the release of an ownership whose call has been announced by beginCall, and waits for the answer
// as Client.call does. A hand-off goes alone, and so does what the release of a fixed lease for nobody needs.
func (s *lockState) launchRelease(ctx context.Context, limit <-chan time.Time, t turn, o *ownership) (err, interrupted error) {
	r := s.beginRelease(ctx, t, o)
	if r == nil {
		return s.unlockAlone(ctx, limit, func(ctx context.Context) error { return s.releaseInTurn(ctx, t, o) })
	}
	select {
	case <-r.answer.Done:
	case <-ctx.Done():
		return nil, r.leave(ctx)
	case <-limit:
		return nil, r.leave(ctx)
	}
	settled, err := r.land()
	if !settled {
		failed := err // what a closure shares is on the heap, and this path is rare
		return s.unlockAlone(ctx, limit, func(ctx context.Context) error { return r.goOn(ctx, failed) })
	}
	s.endCall()
	return err, nil
}

// unlockAlone leaves a command of an unlock, which was announced by beginCall, to a goroutine of its own. If the call is
// interrupted, that one may still write its error.
func (s *lockState) unlockAlone(ctx context.Context, limit <-chan time.Time, rest func(context.Context) error) (err, interrupted error) {
	var result error
	if interrupted = s.callBegun(ctx, limit, nil, func(ctx context.Context) { result = rest(ctx) }); interrupted != nil {
		return nil, interrupted
	}
	return result, nil
}

// beginRelease begins to send the release, or returns nil.
func (s *lockState) beginRelease(ctx context.Context, t turn, o *ownership) *launchedRelease {
	if o.Lease().Parting() != nil || s.nextOwner(o) != nil {
		return nil
	}
	owner, next := o.Lease().Field()
	r := &launchedRelease{s: s, t: t, o: o, next: next}
	r.command = lua.Release{Owner: owner, Fencing: o.Token() != 0, Order: t.order(), Wake: s.c.wakeUp()}
	s.afterRedisson.Store(false)
	t.begin()
	if r.answer = s.kind.launchRelease(ctx, launcher{s.c}, &s.keys, &r.command); r.answer == nil {
		t.end()
		return nil
	}
	return r
}

// land settles the answer if it is final, and ends the turn. Otherwise goOn has to follow.
func (r *launchedRelease) land() (settled bool, err error) {
	v, epochSet, err := r.answer.Freed(&r.command)
	if err == nil && v == lua.Stale {
		err = errStale
	}
	r.t.settle(r.command.Order, err)
	r.t.end()
	if err != nil || v == lua.NotHeld && r.next != "" {
		return false, err
	}
	if r.command.Order.Epoch > 0 && !epochSet {
		r.t.epochNotSet()
	}
	defer r.t.done()
	return true, r.s.settleRelease(r.o, false, v, nil)
}

// goOn repeats a release that has no final answer. It ends the turn.
func (r *launchedRelease) goOn(ctx context.Context, err error) error {
	defer r.t.done()
	switch {
	case lua.ForeignKey(err):
		return r.s.settleRelease(r.o, false, lua.NotHeld, nil) // another program has written over the key
	case err == nil, lua.NotRun(err):
	case !lua.Retryable(err), !r.s.c.pause(backoff(0)):
		return r.s.settleRelease(r.o, lua.Unknown(err), lua.Done, err)
	}
	return r.s.freeAfter(ctx, r.t, r.o, lua.Unknown(err))
}

// leave has a worker settle the answer to a release whose call has left.
func (r *launchedRelease) leave(ctx context.Context) error {
	r.s.c.workers.Run(func() { // ends with the batch and what has to follow; Close waits for it
		defer r.s.endCall()
		<-r.answer.Done
		if settled, err := r.land(); !settled {
			_ = r.goOn(endless(ctx), err) // after an error a clean-up goes on
		}
	})
	return errInterrupted
}
