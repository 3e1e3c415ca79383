package reentrant

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/lua"
)

// A call needs a goroutine that goes on with its command when the caller leaves (Client.call). To wake that one and to
// be woken by it costs a third of what a lock costs in a program that uses many at once. But then commands go in
// batches, and the goroutine that sends a batch goes on for all of them. So an attempt or a release that joins a
// batch is launched: the caller waits for the batch and settles the answer itself. If the caller leaves before,
// a worker waits for the batch and does the same.
//
// The caller's goroutine does nothing that may take long. What does is left to Client.call: to wait for the turn, a
// command that goes alone, a second try, the giving back of an unwanted lock, event functions.

// launcher sends the commands of a Client along with those of other goroutines.
type launcher struct{ c *Client }

var _ lua.Launcher = launcher{}

// Launch implements [lua.Launcher].
func (l launcher) Launch(ctx context.Context, cmd redis.Cmder) (done <-chan struct{}, launched bool) {
	return l.c.commands.Launch(ctx, cmd, l.c.workers.Run)
}

// Landed implements [lua.Launcher].
func (l launcher) Landed(cmd redis.Cmder) { l.c.commands.Landed(cmd) }

// launches reports whether a call would need a goroutine for its command, and may do without.
func (c *Client) launches(ctx context.Context, limit <-chan time.Time) bool {
	return (ctx.Done() != nil || limit != nil) && c.mute && c.cfg.replicas == 0
}

// startNow takes the turn for a call that may launch its command. It reports false if the command has to be sent in
// another way.
func (s *lockState) startNow(ctx context.Context, limit <-chan time.Time) (t turn, ok bool) {
	if !s.c.launches(ctx, limit) || !s.beginCall() {
		return t, false
	}
	if t, ok = s.tryTurn(); !ok {
		s.endCall()
	}
	return t, ok
}

// fly launches an attempt whose call has been announced by beginCall, and waits for the answer as Client.call does.
func (f *flight) fly(ctx context.Context, limit <-chan time.Time) (got attempt, err error) {
	s := f.s
	l := s.kind.launchAcquire(ctx, launcher{s.c}, &s.keys, &f.command)
	if l == nil {
		return f.goAlone(ctx, limit, f.run)
	}
	select {
	case <-l.Done:
	case <-ctx.Done():
		return attempt{}, f.leave(ctx, l)
	case <-limit:
		return attempt{}, f.leave(ctx, l)
	case <-s.c.closing:
		return attempt{}, f.leave(ctx, l)
	}
	answer, err := l.Acquired()
	if err != nil {
		failed := err // what a closure shares is on the heap, and this path is rare
		return f.goAlone(ctx, limit, func(ctx context.Context) attempt { return f.failed(ctx, failed) })
	}
	defer s.endCall()
	return f.landed(ctx, answer), nil
}

// goAlone leaves the attempt to a goroutine of its own. After an error that one may still write the result.
func (f *flight) goAlone(ctx context.Context, limit <-chan time.Time, rest func(context.Context) attempt) (attempt, error) {
	var got attempt
	if err := f.s.callBegun(ctx, limit, f.s.c.closing, func(ctx context.Context) { got = rest(ctx) }); err != nil {
		return attempt{}, err
	}
	return got, nil
}

// leave has a worker settle the answer to an attempt whose call has left.
func (f *flight) leave(ctx context.Context, l *lua.Flight) error {
	f.s.c.workers.Run(func() { // ends with the batch and what has to follow; Close waits for it
		defer f.s.endCall()
		<-l.Done
		if answer, err := l.Acquired(); err != nil {
			f.failed(endless(ctx), err)
		} else {
			f.land(endless(ctx), answer, nil)
		}
	})
	return errInterrupted
}

// landed settles the answer on the caller's goroutine. The call does not wait for the giving back of a lock that it
// must not have.
func (f *flight) landed(ctx context.Context, answer lua.Granted) attempt {
	got, unwanted := f.settle(answer, nil)
	if unwanted == nil {
		f.w.reusable = got.hold != nil
		f.t.done()
		return got
	}
	goOn := func() { _ = f.s.releaseInTurn(endless(ctx), f.t, unwanted) } // after an error a clean-up goes on
	if !f.s.goBackground(goOn) {
		goOn()
	}
	return got
}

// failed settles an attempt that was launched and has failed. If the command has not run, it is sent again.
func (f *flight) failed(ctx context.Context, err error) attempt {
	if lua.NotRun(err) {
		return f.run(ctx)
	}
	return f.land(ctx, lua.Granted{}, err)
}
