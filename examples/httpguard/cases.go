package main

import (
	"context"
	"errors"
	"time"
)

// turns: two requests for an order, on two nodes. The second waits, and gets it.
func (e *example) turns(ctx context.Context) error {
	e.log.Section("1. Two requests for order 41, on two nodes: they take turns")
	const work = 200 * time.Millisecond
	began := time.Now()
	first, err := e.begin(ctx, e.nodes[0], "41?work="+work.String())
	if err != nil {
		return err
	}
	second := e.ask(ctx, e.nodes[1], "41")
	if time.Since(began) < work {
		return errTurns
	}
	return errors.Join(e.tell("anna", "41", <-first, 200), e.tell("bert", "41", second, 200))
}

// locked: the second one's wait is over before the first is done.
func (e *example) locked(ctx context.Context) error {
	e.log.Section("2. The handler takes longer than %v: the second request is told to come again", wait)
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	first, err := e.begin(ctx, e.nodes[0], "42?work=1h")
	if err != nil {
		return err
	}
	err = errors.Join(e.tell("bert", "42", e.ask(ctx, e.nodes[1], "42"), 423),
		e.tell("carl", "43", e.ask(ctx, e.nodes[1], "43"), 200))
	enough()
	<-first
	return err
}

// nested: settle locks the order again, by way of book.
func (e *example) nested(ctx context.Context) error {
	e.log.Section("3. The handler calls a function that locks the same order: it re-enters")
	return e.tell("anna", "44", e.ask(ctx, e.nodes[0], "44"), 200)
}

func (e *example) badID(ctx context.Context) error {
	e.log.Section("4. What is no order ID does not become a key in Redis")
	return e.tell("anna", "{45}", e.ask(ctx, e.nodes[0], "%7B45%7D"), 400)
}

// panics: the next request is served.
func (e *example) panics(ctx context.Context) error {
	e.log.Section("5. A handler panics: the lock is free")
	return errors.Join(e.tell("anna", "45?panic=1", e.ask(ctx, e.nodes[0], "45?panic=1"), 0),
		e.tell("bert", "45", e.ask(ctx, e.nodes[1], "45"), 200))
}

// disconnect: the handler of a client that is gone gives up.
func (e *example) disconnect(ctx context.Context) error {
	e.log.Section("6. A client goes away: the ctx of its handler ends, and the lock is free")
	away, leave := context.WithCancel(ctx)
	defer leave()
	first, err := e.begin(away, e.nodes[0], "46?work=1h")
	if err != nil {
		return err
	}
	leave()
	return errors.Join(e.tell("anna", "46?work=1h", <-first, 0),
		e.tell("bert", "46", e.ask(ctx, e.nodes[1], "46"), 200))
}

// lost: an operator forces the lock open while the handler runs.
func (e *example) lost(ctx context.Context) error {
	e.log.Section("7. The lock is lost: the ctx of the handler ends, with the cause ErrLost")
	first, err := e.begin(ctx, e.nodes[0], "47?work=1h")
	if err != nil {
		return err
	}
	freed, err := e.nodes[1].locks.NewLock(e.prefix + "47").ForceUnlock(ctx)
	if err != nil {
		return err
	}
	e.log.Line("carl", "ForceUnlock", "freed: %v", freed)
	select {
	case a := <-first:
		return e.tell("anna", "47?work=1h", a, 503)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (e *example) unreachable(ctx context.Context) error {
	e.log.Section("8. A node that cannot reach Redis does not serve an order unlocked")
	return e.tell("anna", "48", e.ask(ctx, e.nodes[2], "48"), 503)
}
