package multilock

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/multi"
	"github.com/redlatch/redlatch/internal/scope"
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
	base   context.Context // acts for the caller and never ends: for work that has no ctx of a call

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
	outer    *Hold        // in which it is nested; nil: none, or this one has ended; guarded by mu
}

// holdState is the state of a hold:
//
//	held ──> released     Release: the monitor ends, then all members are released
//	  └────> lost         too few members can be trusted: the monitor frees the rest
type holdState int

const (
	held holdState = iota
	released
	lost
)

// use tells who releases a hold.
type use int

const (
	forUnlock use = iota // a caller of [MultiLock.Unlock]
	forHold              // the caller of [MultiLock.Acquire], to whom the Hold was returned
	forOuter             // the hold of an outer MultiLock; its ctx does not end with the call's
)

// tenure is shared by a hold and all holds nested in it. It is an object of its own and not a pointer
// to the outermost hold, which would keep that hold in memory.
type tenure struct{ _ byte }

// newHold makes a hold of the members that the acquisition holds, and starts its monitor. It returns
// nil if their leases leave no time for a hold.
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
	h.ctx, h.cancel = context.WithCancelCause(scope.With(ctx, cover{h, scope.Of(ctx)}))
	for i := range h.holds {
		if x := &h.holds[i]; x.held() {
			h.watch(x.tenure)
		}
	}
	l.remember(h)
	go h.monitor() // ends with Release, which waits for it, or with the loss
	return h
}

// Context returns a ctx made from the one that was given to Acquire. It ends when that ctx ends. It
// also ends, with the cause (context.Cause) [reentrant.ErrLost], when the lock is lost, and with
// [reentrant.ErrReleased] when this hold is released. When a member's Client is closed, that member
// is lost; if this loses the lock, the loss is also [reentrant.ErrClosed].
//
// The ctx carries the hold. A call with it enters the hold again, on any goroutine, if the call takes
// the same MultiLock, a member, or another MultiLock, for the members that both have. For other locks
// it says nothing, as the ctx of a [reentrant.Hold].
func (h *Hold) Context() context.Context { return h.ctx }

// Lost returns a channel that is closed when the lock is lost. A lock that needs all members is lost
// with the first of them; a quorum, with so many that the rest is not enough. The channel is closed
// at [Hold.ValidUntil] at the latest, but for the scheduling of goroutines. A release does not close
// it.
func (h *Hold) Lost() <-chan struct{} { return h.lost }

// ValidUntil returns until when the hold may be trusted: until then all members are valid, or in a
// quorum more than half of them. Renewal moves it on, and the loss of a member may move it back. It
// does not change any more once the hold has ended.
func (h *Hold) ValidUntil() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state == held {
		if until := h.l.trusted(h.holds); !until.IsZero() {
			h.last = until
		} else if now := time.Now(); now.Before(h.last) {
			h.last = now // lost, and the monitor has not noticed it yet
		}
	}
	return h.last
}

// Tokens returns the members' fencing tokens in the order of the arguments, and the tokens of a
// member that is a MultiLock in its own order. A token is 0 if the member is not held, or if its lock
// has no [reentrant.WithFencing]. Tokens of different members cannot be compared.
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

// MemberState is the state of one member in a hold.
type MemberState struct {
	Name       string
	Server     string
	Held       bool
	ValidUntil time.Time // while it is held
	Err        error     // why the member is not held, as far as that is known
}

// Members returns the state of each member in the hold, in the order of the arguments.
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

// watch tells the monitor when the member's hold ends.
func (h *Hold) watch(t multi.Tenure) { context.AfterFunc(t.Context(), h.notify) }

func (h *Hold) notify() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// over reports whether Release was called. If the hold was lost, its caller has heard of the loss
// then.
func (h *Hold) over() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.released
}

// loss returns the error of a hold that is lost, even if the monitor has not noticed the loss yet. A
// nil Hold has no loss.
func (h *Hold) loss() error {
	if h == nil {
		return nil
	}
	h.review()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}
