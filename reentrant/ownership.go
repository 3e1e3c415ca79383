package reentrant

import (
	"slices"

	"github.com/redlatch/redlatch/internal/lockstate"
)

// ownership is one owner's time with one lock, as the engine keeps it: what callers have of it, and the
// events about it.
type ownership struct {
	lockstate.Ownership // guarded by lockState.mu

	s *lockState

	// All but call guarded by lockState.mu.
	handles []*handle     // handles whose ctx is still to be ended
	lost    chan struct{} // made when asked for; closed when the ownership is lost or abandoned
	err     error         // why it ended; set with its end
	pending *[]func()     // events to be told after Acquired (announce.go); a pointer: there are none as a rule

	// call is the number of the call that got it, for events. The goroutine that tells Acquired writes it; others read it
	// when pending points to announced.
	call uint64
}

// ownLease is an ownership together with its lease.
type ownLease struct {
	ownership
	lease lease
}

var _ lockstate.Holder = (*ownership)(nil)

// ownershipOf is the ownership around an ownership of package lockstate.
func ownershipOf(o *lockstate.Ownership) *ownership { return o.Engine.(*ownership) }

func (o *ownership) bind(l *lockstate.Lease) *lockstate.Ownership {
	o.Engine = o
	o.Bind(l)
	return &o.Ownership
}

// live reports whether the ownership has not ended and is not being released. The caller has
// lockState.mu.
func (o *ownership) live() bool { return o.State() == lockstate.Live }

// lossErr returns the loss that has ended the ownership, and nil if it has ended in another way or goes
// on. The caller has lockState.mu.
func (o *ownership) lossErr() *LostError {
	lost, _ := o.err.(*LostError)
	return lost
}

// Releasing implements [lockstate.Holder].
func (o *ownership) Releasing() {
	o.s.c.freeing.Add(1)
	if o.Root() {
		o.s.c.roots.Add(-1)
	}
	o.endHandles(ErrReleased)
}

// HandedOver implements [lockstate.Holder].
func (o *ownership) HandedOver() {
	o.err = ErrReleased
	o.endHandles(ErrReleased)
}

// Ended implements [lockstate.Holder].
func (o *ownership) Ended(why lockstate.Ending, releasing bool) {
	s := o.s
	switch why.How {
	case lockstate.Released:
		o.err = ErrReleased
	case lockstate.Closed:
		o.err = ErrClosed
	case lockstate.Lost:
		o.err = o.lostError(why)
		if o.Reader() {
			s.loseReader(o)
		}
	}
	if o.Root() && !releasing {
		s.c.roots.Add(-1)
	}
	o.endHandles(o.err)
	s.c.held.Add(-1)
	if releasing {
		s.c.freeing.Add(-1)
	}
	s.c.end()
	s.dropUser()
	if why.How != lockstate.Released && o.lost != nil {
		close(o.lost) // last: then the hold's ctx has its cause already
	}
}

// lostError is the loss that a decision of the state has found.
func (o *ownership) lostError(why lockstate.Ending) *LostError {
	reason := LeaseEnded
	if why.Reason == lockstate.Overridden {
		reason = Overridden
	}
	return &LostError{Name: o.s.name, Owner: o.Owner(), Held: why.At.Sub(o.Since()), Reason: reason}
}

// detach forgets a handle whose ctx has been ended: an ownership that lasts may be entered and left
// any number of times.
func (o *ownership) detach(gone *handle) {
	o.handles = slices.DeleteFunc(o.handles, func(other *handle) bool { return other == gone })
}

// endHandles ends the ctx of every handle. That runs no code of the caller's on this goroutine:
// context.AfterFunc starts its own.
func (o *ownership) endHandles(err error) {
	for _, handle := range o.handles {
		handle.cancel(err)
	}
	o.handles = nil
}
