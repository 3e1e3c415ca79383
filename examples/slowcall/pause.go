package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/examples/internal/demo"
	"github.com/redlatch/redlatch/reentrant"
)

// paused has anna stopped while she has the lock, until bert has it.
func (s *scenario) paused(ctx context.Context) error {
	if !demo.CanPause {
		return s.pausedInside(ctx)
	}
	p, err := demo.Start("holder", job{URL: s.rdb.URL, Lock: s.name})
	if err != nil {
		return err
	}
	err = s.comeBack(ctx, stoppable{p, p.Pause, p.Continue, "SIGSTOP", "SIGCONT", "a process"})
	_ = p.Continue() // she may be stopped still, after an error; or gone
	return errors.Join(err, p.End())
}

// stoppable is a holder that can be stopped.
type stoppable struct {
	line
	pause, resume     func() error
	pausing, resuming string // what that is called
	what              string
}

// comeBack stops the holder past its lease and lets it go on. It writes to a store that
// does not look at tokens, and to one that does.
func (s *scenario) comeBack(ctx context.Context, anna stoppable) error {
	s.log.Section("3. A holder that is stopped past its lease and comes back (%s, %s)", anna.what, anna.pausing)
	careless, careful := &memory{unfenced: true}, &memory{}
	var r report
	if err := anna.Receive(ctx, &r); err != nil {
		return fmt.Errorf("anna did not get the lock: %w", err)
	}
	defer s.rdb.Forget(ctx, r.Client, s.name)
	s.log.Line("anna", "Acquire", "has it, with token %d, and checks that she has", r.Token)
	if err := anna.pause(); err != nil {
		return err
	}
	s.log.Line("anna", anna.pausing, "stands still, before she writes; nobody renews her lease")

	began := time.Now()
	hold, err := s.bert.NewLock(s.name, reentrant.WithFencing()).Acquire(ctx)
	if err != nil {
		return err
	}
	defer hold.Release(ctx)
	s.log.Line("bert", "Acquire", "has it after %s, with token %d", demo.MS(time.Since(began)), hold.Token())
	for _, store := range []store{careless, careful} {
		if err := store.Write(ctx, s.name, "paid, by bert", hold.Token()); err != nil {
			return err
		}
	}
	s.log.Line("bert", "writes", "%q", careful.state(s.name))

	if err := errors.Join(anna.Send("proceed"), anna.resume()); err != nil {
		return err
	}
	if err := anna.Receive(ctx, &r); err != nil {
		return fmt.Errorf("anna did not write: %w", err)
	}
	s.log.Line("anna", anna.resuming, "goes on and writes %q", r.Write)
	s.log.Line("", "", "by then her ctx has ended: %v; she does not look any more", r.Ended)
	if err := careless.Write(ctx, s.name, r.Write, r.Token); err != nil {
		return err
	}
	err = careful.Write(ctx, s.name, r.Write, r.Token)
	var stale *StaleError
	if !errors.As(err, &stale) {
		return fmt.Errorf("the store did not refuse it: %w", err)
	}
	s.log.Line("store", "without fence", "takes it: the order is now %q", careless.state(s.name))
	s.log.Line("store", "with fence", "%v", err)
	s.log.Line("", "", "the order is still %q", careful.state(s.name))

	if err := anna.Receive(ctx, &r); err != nil {
		return fmt.Errorf("anna was not told: %w", err)
	}
	s.log.Line("anna", "context.Cause", "is ErrLost: %v; %s", r.Lost, r.Reason)
	return nil
}
