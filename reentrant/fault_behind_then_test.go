package reentrant_test

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
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
		r.t.Errorf("the hold ended with %v", contextCause(r.hold))
	}
	r.moves.Remove()
	follows(r.t, r.Server, "l", r.hold, "1")
	okay(r.t, r.hold.Release(r.t.Context()))
}

func (r *behindRig) reenterLater() {
	nested := begin(func() error { return r.l.Lock(r.hold.Context()) })
	r.moves.Remove()
	okay(r.t, nested.wait())
	follows(r.t, r.Server, "l", r.hold, "2")
	okay(r.t, r.l.Unlock(r.hold.Context()))
	follows(r.t, r.Server, "l", r.hold, "1")
	okay(r.t, r.hold.Release(r.t.Context()))
}

func (r *behindRig) handOn() { r.handTo("c") }

// handBack gives the lock to the owner whose field may not have been moved at all.
func (r *behindRig) handBack() { r.handTo("a") }

func (r *behindRig) handTo(who string) {
	next := callFor(r.t, r.c, r.l, who)
	okay(r.t, r.hold.Release(r.t.Context()))
	hold := next.hold(r.t, 10*time.Second)
	r.moves.Remove()
	follows(r.t, r.Server, "l", hold, "1")
	okay(r.t, r.l.Lock(hold.Context()))
	follows(r.t, r.Server, "l", hold, "2")
	okay(r.t, r.l.Unlock(hold.Context()))
	okay(r.t, hold.Release(r.t.Context()))
}

// lose cuts off everything until the lease is over.
func (r *behindRig) lose() {
	cut := r.proxy.Add(faultproxy.Rule{Match: anyScript, Action: faultproxy.DropBefore})
	until := r.hold.ValidUntil()
	inTime(r.t, 3*time.Second, "the loss", r.hold.Lost())
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
	wants(r.t, contextCause(r.hold), reentrant.ErrClosed)
	r.moves.Remove()
	_, err := faultClient(r.t, r.Client(r.t)).NewLock("l").ForceUnlock(r.t.Context())
	okay(r.t, err)
}

func (r *behindRig) force() {
	freed, err := faultClient(r.t, r.Client(r.t)).NewLock("l").ForceUnlock(r.t.Context())
	if !freed || err != nil {
		r.t.Errorf("ForceUnlock: %v, %v", freed, err)
	}
	r.moves.Remove()
	inTime(r.t, 5*time.Second, "the loss, by the next move and not by a renewal", r.hold.Lost())
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
	okay(r.t, r.hold.Release(r.t.Context()))
}

// contended releases while another Client waits and an owner of this one as well: both get it.
func (r *behindRig) contended() {
	other := faultClient(r.t, r.Client(r.t))
	theirs := callFor(r.t, other, other.NewLock("l"), "other")
	redistest.Eventually(r.t, 5*time.Second, "the other client is registered", func() bool {
		return r.Do(r.t, "ZCARD", "redlatch_waiters:{l}").(int64) == 1
	})
	mine := callFor(r.t, r.c, r.l, "a")
	r.moves.Remove()
	okay(r.t, r.hold.Release(r.t.Context()))
	for range 2 {
		select {
		case hold := <-mine.granted:
			follows(r.t, r.Server, "l", hold, "1")
			okay(r.t, hold.Release(r.t.Context()))
			mine.granted = nil
		case hold := <-theirs.granted:
			follows(r.t, r.Server, "l", hold, "1")
			okay(r.t, hold.Release(r.t.Context()))
			theirs.granted = nil
		case <-time.After(5 * time.Second):
			r.t.Fatal("somebody waits for ever")
		}
	}
}
