package reentrant

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/internal/multi"
	"github.com/redlatch/redlatch/internal/scope"
)

// holdScope is a hold as the scope that its ctx carries. It is a type of its own, so that [Hold], which
// embeds the handle, has no method Outer.
type holdScope handle

// Outer implements [scope.Scope].
func (s *holdScope) Outer() scope.Scope { return s.outer }

// handleOf returns the handle of a hold that package multilock has passed on, or nil if it has none.
func handleOf(hold multi.Hold) *handle {
	s, _ := hold.(*holdScope)
	return (*handle)(s)
}

// identity is who a call acts for.
type identity struct {
	owner     string     // field in the lock's hash
	ownership *ownership // ctx comes from a hold of it, live a moment ago; nil: from none of this lock
	lost      error      // ctx comes from a hold of this lock that is lost
	shared    bool       // other calls may act for the same owner at the same time
}

// is reports whether the call acts in this ownership, or can enter it.
func (id *identity) is(o *ownership) bool {
	return o.Owner() == id.owner && (id.ownership == nil || id.ownership == o)
}

// identify finds out who acts on the lock with ctx: the hold of this lock that ctx comes from, else the
// owner that ctx names, else the calling goroutine. A hold that was released does not count: no call with
// its stale ctx may enter a later hold of the same goroutine.
func (l *Lock) identify(ctx context.Context) (identity, error) {
	if s := scope.Of(ctx); s != nil || l.err != nil {
		return l.find(s, false)
	}
	return identity{owner: l.fieldOf(l.c.goroutine())}, nil
}

// identifyToLeave is identify for an Unlock. A hold that was released counts as long as the ownership
// lasts: a nested Lock with its ctx may still be held.
func (l *Lock) identifyToLeave(ctx context.Context) (identity, error) {
	return l.find(scope.Of(ctx), true)
}

// find goes through the scopes of ctx from the inside out. The first hold of this lock, or named owner,
// decides. A bound owner, which stands for the calling goroutine, counts only if there is none. leaving
// is set for an Unlock.
func (l *Lock) find(s scope.Scope, leaving bool) (identity, error) {
	if l.err != nil {
		return identity{}, l.err
	}
	var bound *scope.Bound
	for ; s != nil; s = s.Outer() {
		id, found := identity{}, false
		switch s := s.(type) {
		case *holdScope:
			id, found = l.ownedBy((*handle)(s), leaving)
		case *scope.Named:
			return identity{owner: l.fieldOf(l.c.id + ":" + s.Owner), shared: true}, s.Err
		case *scope.Bound:
			if bound == nil {
				bound = s
			}
		case multi.Cover:
			id, found = l.coveredBy(s, leaving)
		}
		if found {
			return id, nil
		}
	}
	if bound != nil {
		return identity{owner: l.fieldOf(l.c.id + ":" + bound.Owner), shared: true}, nil
	}
	return identity{owner: l.fieldOf(l.c.goroutine())}, nil
}

// ownedBy is the identity that a hold gives. The hold has to be one of this lock, and not ended by a
// release. It may be one in the other mode. If it is lost, a call that comes from it has to hear of that; the release of a
// hold in this mode does not.
func (l *Lock) ownedBy(hold *handle, leaving bool) (id identity, found bool) {
	o := hold.h
	if !o.s.of(l) {
		return identity{}, false
	}
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	switch {
	case hold.released && !(leaving && o.live()):
		return identity{}, false
	case o.Mode() != l.mode:
		id = identity{owner: l.inMode(o.Owner()), shared: true}
		lost := errors.Is(o.err, ErrLost)
		if lost && !leaving {
			id.lost = o.err
		}
		return id, o.live() || lost
	case o.live():
		return identity{owner: o.Owner(), ownership: o, shared: true}, true
	case errors.Is(o.err, ErrLost):
		return identity{owner: o.Owner(), lost: o.err, shared: true}, true
	}
	return identity{}, false
}

// coveredBy is the identity that a hold on a MultiLock gives, if this lock is one of its parts.
func (l *Lock) coveredBy(cover multi.Cover, leaving bool) (id identity, found bool) {
	p := l.part()
	if leaving {
		if hold := handleOf(cover.Had(p)); hold != nil {
			if id, found := l.ownedBy(hold, true); found && id.ownership != nil {
				return id, true
			}
		}
		if owner, at, ended := cover.Ended(p); ended {
			if id, found := l.heldSince(l.fieldOf(l.c.id+":"+owner), at); found {
				return id, true
			}
		}
	}
	covering, covered := cover.Covers(p)
	if hold := handleOf(covering.Hold); covered && hold != nil {
		if id, found := l.ownedBy(hold, leaving); found {
			return id, true
		}
		covering, covered = cover.Covers(p) // the hold was released since, and perhaps the cover with it
	}
	if !covered {
		return identity{}, false
	}
	return identity{owner: l.fieldOf(l.c.id + ":" + covering.Owner), lost: covering.Lost, shared: true}, true
}

// heldSince is the identity of the owner if it holds the lock, and took it at then or before.
func (l *Lock) heldSince(owner string, then time.Time) (id identity, found bool) {
	s := l.c.findState(l)
	if s == nil {
		return identity{}, false
	}
	defer s.dropUser()
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.state.Owner(owner)
	if o == nil || o.State() != lockstate.Live || o.Since().After(then) {
		return identity{}, false
	}
	return identity{owner: owner, ownership: ownershipOf(o), shared: true}, true
}
