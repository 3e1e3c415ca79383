package chaos

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/internal/history"
	"github.com/redlatch/redlatch/reentrant"
)

// grip is a hold and its record.
type grip struct {
	e     errand
	hold  *reentrant.Hold
	fixed bool
	held  *history.Held
	drop  context.CancelFunc // of the ctx that it was acquired with
	over  chan struct{}      // closed when it was released
}

// tenure acquires the lock, works, perhaps takes it again inside, and releases all of it.
func (e errand) tenure() {
	g := e.acquire(e.ctx, false)
	if g == nil {
		return
	}
	defer g.release()
	defer g.e.m.holds(g.e.lock.Name(), g.hold, 0)
	g.look(1, true)
	awaited := g.e.m.holds(g.e.lock.Name(), g.hold, g.held.ID())
	linger := e.r.linger.Load()
	switch {
	case linger != nil && *linger == g.e.lock.Name() && !g.fixed:
		e.pass(3*lease/2, g.hold.Lost())
	case awaited:
		e.pass(50*time.Millisecond, g.hold.Lost())
	case g.fixed && chance(e.random, 20):
		e.pass(lease, g.hold.Lost()) // to the end of the lease, when others wait for just that
	}
	e.work(g.hold.Lost())
	if chance(e.random, 35) {
		g.nest(2)
	}
}

// nest takes the lock again, up to a depth of four. It reports whether Redis is certain to
// have the outer hold's count again.
func (g *grip) nest(count int) (certain bool) {
	inner := g.e.inside().acquire(g.hold.Context(), true)
	if inner == nil {
		return false
	}
	certain = true
	inner.look(count, certain)
	inner.e.work(inner.hold.Lost())
	if count < 4 && chance(g.e.random, 40) {
		certain = inner.nest(count + 1)
	}
	certain = inner.release() == history.OK && certain
	g.look(count-1, certain)
	return certain
}

// inside is the errand of a nested hold. Who writes may read inside.
func (e errand) inside() errand {
	if e.side == history.Writing && chance(e.random, 50) {
		e.side = history.Reading
		e.lock = e.of.lock(e.client, e.side)
		e.apart = true
	}
	return e
}

// acquire takes the lock, at times with a ctx that is cancelled meanwhile. It returns nil
// if it got nothing.
func (e errand) acquire(ctx context.Context, nested bool) *grip {
	op, options := e.request()
	op.Nested = nested
	ctx, cancel := context.WithCancel(ctx)
	if chance(e.random, 15) {
		defer time.AfterFunc(e.upTo(60*time.Millisecond), cancel).Stop()
	}
	id := e.r.log.Call(op)
	hold, err := e.lock.Acquire(ctx, options...)
	if err != nil {
		e.r.log.Return(id, failed(err))
		cancel()
		return nil
	}
	g := &grip{e: e, hold: hold, fixed: op.Fixed, held: e.r.log.Granted(id, hold, hold.Token()), drop: cancel, over: make(chan struct{})}
	g.tell()
	return g
}

// tell notes the loss of the hold when its ctx ends for that, or later if it had ended for
// another reason: the loss of a write around a read that goes on is one. That needs a goroutine only then.
func (g *grip) tell() {
	ctx := g.hold.Context()
	context.AfterFunc(ctx, func() {
		if lostBy(ctx) && !g.e.apart {
			g.held.Lost()
			return
		}
		select {
		case <-g.hold.Lost():
			g.held.Lost()
		case <-g.over:
		}
	})
}

// lostBy reports whether a hold's ctx has ended because it was lost.
func lostBy(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, reentrant.ErrLost) || errors.Is(cause, reentrant.ErrClosed)
}

func (g *grip) release() history.Outcome {
	defer g.drop()
	defer close(g.over)
	ctx, cancel := g.e.patience()
	defer cancel()
	done := g.held.Releasing()
	err := g.hold.Release(ctx)
	outcome := released(err)
	done(outcome, err)
	return outcome
}

// look notes which hold counts Redis has, if it is certain to have this owner's, and
// nobody else acts as the same owner. After a write-behind hand-off the hash is behind
// until a nested call.
func (g *grip) look(count int, certain bool) {
	behind := g.e.m.handoff == reentrant.WriteBehind && count == 1 && g.hold.Token() == 0
	if !certain || g.e.shared || g.e.of.kind == readWrite || behind || !chance(g.e.random, 60) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	op := g.e.op(history.Counted)
	op.Hold, op.Want = g.held.ID(), count
	id := g.e.r.log.Call(op)
	fields, err := g.e.r.look.HGetAll(ctx, op.Lock).Result()
	g.e.r.log.Return(id, func(op *history.Op) {
		if err != nil {
			op.Note = err.Error()
			return
		}
		op.Outcome, op.Got = history.OK, make(map[string]int)
		for field, text := range fields {
			n, err := strconv.Atoi(text)
			if err != nil || field != g.hold.Owner() {
				n = -1 // nobody wants that many
			}
			op.Got[field] = n
		}
	})
}
