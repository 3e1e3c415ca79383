package multilock

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch/reentrant"
	"github.com/redlatch/redlatch/watchdog"
)

// Hold is one hold on a [MultiLock], as a value. It is safe for use by many goroutines.
type Hold struct {
	l      *MultiLock
	owner  string
	use    use
	tenure *tenure
	since  time.Time // the grant
	ctx    context.Context
	cancel context.CancelCauseFunc
	base   context.Context // acts for the caller and has no end: for what is done without one

	lost    chan struct{} // closed when the hold is lost
	stop    chan struct{} // closed when the release begins
	done    chan struct{} // closed when the monitor has ended
	changed chan struct{} // capacity 1: a member's hold has ended

	mu       sync.Mutex
	state    holdState    // guarded by mu
	released bool         // Release was called; guarded by mu
	holds    []memberHold // in canonical order; guarded by mu
	fixed    time.Time    // when it ends; zero: it is renewed; guarded by mu
	last     time.Time    // ValidUntil when it was last looked at; guarded by mu
	err      error        // the loss; guarded by mu
	ended    time.Time    // when it was released or lost; guarded by mu
	outer    *Hold        // that it is nested in; nil if none, and when this one has ended; guarded by mu
}

// holdState is where a hold is on its way:
//
//	held ──> released     Release: the monitor ends, then all members are released
//	  └────> lost         too few members can be trusted: the monitor frees the rest
type holdState int

const (
	held holdState = iota
	released
	lost
)

// use is who releases a hold.
type use int

const (
	forUnlock use = iota // whoever calls [MultiLock.Unlock]
	forHold              // the caller of [MultiLock.Acquire], who has it as a value
	forOuter             // the hold of another MultiLock. Its ctx does not end with the call's
)

// tenure is what a hold and those that are nested in it have in common. It is no pointer to the
// outermost, which would keep it in memory.
type tenure struct{ _ byte }

// newHold makes a hold of what was gathered and starts its monitor. It returns nil if
// there is no time left to hold it for.
func (a *acquisition) newHold(owner string) *Hold {
	l, ctx := a.l, a.user
	h := &Hold{
		l: l, owner: owner, use: a.use, outer: a.outer, since: time.Now(),
		base:    context.WithoutCancel(a.caller),
		lost:    make(chan struct{}),
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
		changed: make(chan struct{}, 1),
		holds:   slices.Clone(a.holds),
	}
	if a.outer != nil {
		h.tenure = a.outer.tenure
	}
	h.last = l.trusted(h.holds)
	if h.last.IsZero() || watchdog.Passed(h.last) {
		return nil
	}
	if a.terms.Lease != 0 {
		h.fixed = l.leased(h.holds)
	}
	if h.use == forOuter {
		ctx = h.base
	}
	h.ctx, h.cancel = context.WithCancelCause(reentrant.CoverContext(ctx, cover{h}))
	for i := range h.holds {
		if x := &h.holds[i]; x.held() {
			h.watch(x.tenure)
		}
	}
	l.remember(h)
	go h.monitor() // ends with Release, which waits for it, or with the loss
	return h
}

// Context returns a ctx made from the one that was given to Acquire. It ends when that
// one ends, or with the cause (context.Cause) [reentrant.ErrLost] when the lock is lost,
// [reentrant.ErrReleased] when this hold is released. When a member's Client is closed
// that member is lost; the loss of the lock, if it comes of that, is also
// [reentrant.ErrClosed].
//
// It carries the hold: a call that takes the same MultiLock with it, a member, or another MultiLock
// for the members that both have, enters it again, on any goroutine. For other locks it says
// nothing, as the ctx of a [reentrant.Hold].
func (h *Hold) Context() context.Context { return h.ctx }

// Lost returns a channel that is closed when the lock is lost: a member of a lock that
// needs all, or so many that the rest is not enough. That is at [Hold.ValidUntil] at
// the latest, but for the scheduling of goroutines. It is not closed by a release.
func (h *Hold) Lost() <-chan struct{} { return h.lost }

// ValidUntil returns until when the hold may be trusted: until then all members, or
// more than half of them, are valid. Renewal moves it on, and the loss of a member may
// move it back. Once the hold has ended it stays.
func (h *Hold) ValidUntil() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state == held {
		if until := h.l.trusted(h.holds); !until.IsZero() {
			h.last = until
		} else if now := time.Now(); now.Before(h.last) {
			h.last = now // lost, and the monitor has not come to it yet
		}
	}
	return h.last
}

// Tokens returns the members' fencing tokens in the order of the arguments, those of a
// member that is a MultiLock in its order: 0 for a member that is not held, or whose
// lock has no [reentrant.WithFencing]. Tokens of different members cannot be compared.
func (h *Hold) Tokens() []int64 {
	tokens := make([]int64, h.l.parts)
	h.eachHeld(func(x *memberHold) { copy(tokens[x.m.first:], x.tenure.Tokens()) })
	return tokens
}

// owners are the owner's fields on the members that are held.
func (h *Hold) owners() (owners []string) {
	h.eachHeld(func(x *memberHold) { owners = append(owners, x.tenure.Owners()...) })
	return owners
}

func (h *Hold) eachHeld(f func(x *memberHold)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.holds {
		if x := &h.holds[i]; x.held() {
			f(x)
		}
	}
}

// MemberState is how a hold stands with one member.
type MemberState struct {
	Name       string
	Server     string
	Held       bool
	ValidUntil time.Time // while it is held
	Err        error     // why it is not, as far as that is known
}

// Members returns how the hold stands with each member, in the order of the arguments.
func (h *Hold) Members() []MemberState {
	h.mu.Lock()
	defer h.mu.Unlock()
	states := make([]MemberState, len(h.holds))
	for i := range h.holds {
		x := &h.holds[i]
		s := MemberState{Name: x.m.Name(), Server: x.m.server, Held: x.held() && !x.ended(), Err: x.err}
		if s.Held {
			s.ValidUntil = x.trust(h.l.cfg.longest)
		}
		states[x.m.index] = s
	}
	return states
}

// String names the lock and the owner.
func (h *Hold) String() string { return fmt.Sprintf("%s held by %s", h.l.name, h.owner) }

// watch has the monitor look at the hold when a member's hold ends.
func (h *Hold) watch(t reentrant.Tenure) { context.AfterFunc(t.Context(), h.notify) }

func (h *Hold) notify() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// over reports whether Release was called: its caller was told of a loss.
func (h *Hold) over() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.released
}

// loss returns the error of a hold that is lost, also when the monitor does not know it
// yet, and nil for no hold.
func (h *Hold) loss() error {
	if h == nil {
		return nil
	}
	h.review()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}
