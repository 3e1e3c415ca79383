package faulttests

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// What happens next in [TestFault09BehindMoveWithoutAnswer]. At the end of each the lock is
// released, or lost, or will be freed by itself.

func (r *behindRig) a() context.Context { return owner(r.t.Context(), "a") }

func (r *behindRig) release() {
	if err := r.hold.Release(r.t.Context()); err != nil && !errors.Is(err, reentrant.ErrUnconfirmed) {
		r.t.Error(err)
	}
}

// reenter nests while no move is answered: that fails, and leaves the one hold.
func (r *behindRig) reenter() {
	wants(r.t, r.l.Lock(r.hold.Context()), reentrant.ErrNotAcquired)
	if r.hold.Context().Err() != nil {
		r.t.Errorf("the hold ended with %v", locktest.ContextCause(r.hold))
	}
	r.moves.Remove()
	follows(r.t, r.Server, "l", r.hold, "1")
	must(r.t, r.hold.Release(r.t.Context()))
}

func (r *behindRig) reenterLater() {
	nested := inBackground(func() error { return r.l.Lock(r.hold.Context()) })
	r.moves.Remove()
	must(r.t, <-nested)
	follows(r.t, r.Server, "l", r.hold, "2")
	must(r.t, r.l.Unlock(r.hold.Context()))
	follows(r.t, r.Server, "l", r.hold, "1")
	must(r.t, r.hold.Release(r.t.Context()))
}

func (r *behindRig) handOn() { r.handTo("c") }

// handBack gives the lock to the owner whose field may not have been moved at all.
func (r *behindRig) handBack() { r.handTo("a") }

func (r *behindRig) handTo(who string) {
	next := locktest.CallFor(r.t, r.c, r.l, who)
	must(r.t, r.hold.Release(r.t.Context()))
	hold := next.Hold(r.t, 10*time.Second)
	r.moves.Remove()
	follows(r.t, r.Server, "l", hold, "1")
	must(r.t, r.l.Lock(hold.Context()))
	follows(r.t, r.Server, "l", hold, "2")
	must(r.t, r.l.Unlock(hold.Context()))
	must(r.t, hold.Release(r.t.Context()))
}

// lose cuts off everything until the lease is over.
func (r *behindRig) lose() {
	cut := r.proxy.Add(faultproxy.Rule{Match: anyScript, Action: faultproxy.DropBefore})
	until := r.hold.ValidUntil()
	locktest.InTime(r.t, 3*time.Second, "the loss", r.hold.Lost())
	if early := time.Until(until); early > 0 {
		r.t.Errorf("lost %v early", early)
	}
	cut.Remove()
	wants(r.t, r.hold.Release(r.t.Context()), reentrant.ErrLost)
}

// close leaves the lock to Redis, as a process that ends does. The key would live for the
// rest of the lease: an operator frees it.
func (r *behindRig) close() {
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Millisecond)
	defer cancel()
	if r.c.Close(ctx) == nil {
		r.t.Error("Close with a hold that nobody released returned nil")
	}
	wants(r.t, locktest.ContextCause(r.hold), reentrant.ErrClosed)
	r.moves.Remove()
	_, err := faultClient(r.t, r.Client(r.t)).NewLock("l").ForceUnlock(r.t.Context())
	must(r.t, err)
}

func (r *behindRig) force() {
	freed, err := faultClient(r.t, r.Client(r.t)).NewLock("l").ForceUnlock(r.t.Context())
	if !freed || err != nil {
		r.t.Errorf("ForceUnlock: %v, %v", freed, err)
	}
	r.moves.Remove()
	locktest.InTime(r.t, 5*time.Second, "the loss, by the next move and not by a renewal", r.hold.Lost())
	wants(r.t, r.hold.Release(r.t.Context()), reentrant.ErrLost)
}

// ask asks while no move is answered, and after.
func (r *behindRig) ask() {
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second) // of a lease of 30 s
	defer cancel()
	if n, err := r.l.HoldCount(owner(ctx, "a")); n != 0 || err != nil {
		r.t.Errorf("HoldCount of the owner before is %d, %v", n, err)
	}
	if locked, err := r.l.IsLocked(r.t.Context()); !locked || err != nil {
		r.t.Errorf("IsLocked is %v, %v", locked, err)
	}
	r.moves.Remove()
	if n, err := r.l.HoldCount(owner(r.t.Context(), "b")); n != 1 || err != nil {
		r.t.Errorf("HoldCount is %d, %v", n, err)
	}
	must(r.t, r.hold.Release(r.t.Context()))
}

// contended releases while another Client waits and an owner of this one as well: both get it.
func (r *behindRig) contended() {
	other := faultClient(r.t, r.Client(r.t))
	theirs := locktest.CallFor(r.t, other, other.NewLock("l"), "other")
	redistest.Eventually(r.t, 5*time.Second, "the other client is registered", func() bool {
		return r.Do(r.t, "ZCARD", "redlatch_waiters:{l}").(int64) == 1
	})
	mine := locktest.CallFor(r.t, r.c, r.l, "a")
	r.moves.Remove()
	must(r.t, r.hold.Release(r.t.Context()))
	for range 2 {
		select {
		case hold := <-mine.Granted:
			follows(r.t, r.Server, "l", hold, "1")
			must(r.t, hold.Release(r.t.Context()))
			mine.Granted = nil
		case hold := <-theirs.Granted:
			follows(r.t, r.Server, "l", hold, "1")
			must(r.t, hold.Release(r.t.Context()))
			theirs.Granted = nil
		case <-time.After(5 * time.Second):
			r.t.Fatal("somebody waits for ever")
		}
	}
}
