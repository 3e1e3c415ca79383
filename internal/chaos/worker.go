package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redlatch/redlatch/internal/history"
	"github.com/redlatch/redlatch/reentrant"
)

// worker takes and releases locks of one member, as one owner: its goroutine, or one that it
// shares with another worker.
type worker struct {
	r      *round
	m      *member
	name   string
	id     int  // among the workers of the member
	shared bool // the owner is an explicit one, of other workers too
	random *rand.Rand

	favourite int // lock
	errands   int
}

// errand is one thing that a worker does, with one lock.
type errand struct {
	*worker
	of     target
	client *reentrant.Client
	side   history.Side
	lock   *reentrant.Lock
	owner  string // in the history: unique to the Client
	field  string // in Redis, if the owner goes on no other errand
	ctx    context.Context
	apart  bool // it reads inside a write: its lease is not the one of the hold that ctx comes from
}

func (w *worker) run() {
	for w.r.storm.Err() == nil {
		e := w.begin(w.pick())
		switch n := w.random.IntN(100); {
		case n < 60, w.shared:
			e.tenure()
		case n < 78:
			e.classic()
		case n < 88:
			e.do()
		case n < 95:
			e.ask()
		default:
			e.stray()
		}
		w.r.wait(w.upTo(4 * time.Millisecond))
	}
}

// pick draws a lock and, of a read-write lock, the side. Half of the time it is always the same, so that one owner is often
// there again soon: what a command does that arrives late shows only then.
func (w *worker) pick() (t target, side history.Side) {
	n := w.favourite
	if chance(w.random, 50) {
		n = w.random.IntN(len(w.r.targets))
	}
	t = w.r.targets[n%len(w.r.targets)]
	sides := t.sides()
	if chance(w.random, 70) {
		return t, sides[len(sides)-1] // reads, if it has a side for that
	}
	return t, sides[0]
}

// begin makes an errand for the worker's owner, on the Client that its member has now.
//
// Half of the time it takes a fair lock for an owner of this errand alone: then who is in the line is certain.
func (w *worker) begin(t target, side history.Side) errand {
	c, prefix := w.m.current()
	e := errand{worker: w, of: t, client: c, side: side, lock: t.lock(c, side), owner: prefix + w.name, ctx: context.Background()}
	switch {
	case t.kind == fair && chance(w.random, 50):
		w.errands++
		name := fmt.Sprintf("r%d-%s-%d-%d", w.r.n, w.name, w.id, w.errands)
		e.owner, e.field = prefix+name, c.ID()+":"+name
		e.ctx = reentrant.WithOwner(e.ctx, name)
	case w.shared:
		e.ctx = reentrant.WithOwner(e.ctx, w.name)
	}
	return e
}

func (w *worker) upTo(d time.Duration) time.Duration { return time.Duration(w.random.Int64N(int64(d))) }

// op is what all records of an errand have in common.
func (e errand) op(kind history.Kind) history.Op {
	op := history.Op{Kind: kind, Client: e.m.n, Owner: e.owner, Lock: e.lock.Name()}
	if kind == history.Acquire {
		op.Side, op.Field, op.Behind = e.side, e.field, e.behind()
	}
	return op
}

// behind reports whether a lock may be granted on a lease that was not confirmed anew: by a write-behind hand-off, or to a
// reader that joins others of its Client.
func (e errand) behind() bool {
	return e.side == history.Reading || e.m.handoff == reentrant.WriteBehind && !e.of.fenced
}

// request draws how the lock is wanted.
func (e errand) request() (op history.Op, options []reentrant.AcquireOption) {
	op = e.op(history.Acquire)
	op.Lease, op.Wait = lease, -1
	switch n := e.random.IntN(100); {
	case n < 20:
		op.Wait = 0
	case n < 60:
		op.Wait = e.upTo(400 * time.Millisecond)
	}
	if op.Wait >= 0 {
		options = append(options, reentrant.WithWait(op.Wait))
	}
	if chance(e.random, 25) {
		op.Fixed, op.Lease = true, 20*time.Millisecond+e.upTo(300*time.Millisecond)
		options = append(options, reentrant.WithFixedLease(op.Lease))
	}
	return op, options
}

// busyFor draws for how long a worker keeps a lock: a moment as a rule, at times through
// several renewals, at times beyond the lease.
func (w *worker) busyFor() time.Duration {
	switch n := w.random.IntN(200); {
	case n < 1:
		return lease/3 + w.upTo(lease)
	case n < 8:
		return w.upTo(60 * time.Millisecond)
	default:
		return w.upTo(1500 * time.Microsecond)
	}
}

// work passes the time until the work is done or the lock is lost.
func (w *worker) work(lost <-chan struct{}) { w.pass(w.busyFor(), lost) }

func (w *worker) pass(d time.Duration, lost <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-lost:
	}
}

// patience is the ctx of a release, from the owner's.
func (e errand) patience() (context.Context, context.CancelFunc) {
	limit := 5 * time.Second
	if chance(e.random, 8) {
		limit = e.upTo(20 * time.Millisecond)
	}
	return context.WithTimeout(e.ctx, limit)
}

// failed completes the record of a call that got nothing.
func failed(err error) func(*history.Op) {
	return func(op *history.Op) {
		var refusal *reentrant.NotAcquiredError
		switch {
		case errors.As(err, &refusal) && refusal.Err == nil:
			op.Outcome = history.Refused
		case errors.Is(err, reentrant.ErrUpgrade):
			op.Outcome = history.Refused
		case errors.Is(err, reentrant.ErrLost):
			op.Outcome = history.Gone // a nested call, whose lock was lost
		default:
			op.Outcome = history.Unknown
		}
		op.Note = err.Error()
	}
}

// released says what became of a release.
func released(err error) history.Outcome {
	switch {
	case err == nil:
		return history.OK
	case errors.Is(err, reentrant.ErrLost):
		return history.Gone
	case errors.Is(err, reentrant.ErrNotHeld):
		return history.Refused
	case errors.Is(err, reentrant.ErrClosed):
		return history.Closed
	default:
		return history.Unknown
	}
}
