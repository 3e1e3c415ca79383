package reentrant

import (
	"context"
	"errors"
	"time"
)

// A ctx carries a chain of scopes, the innermost first. It says which holds the call comes from,
// and not who it is: a ctx that was the owner of every name let the goroutines of an errgroup,
// under the ctx of one lock, into another lock together.
//
//	*handle      a hold of one lock: owns that lock, while it lasts, and no other
//	*coverScope  a hold on a lock over several: owns its members alike
//	*namedScope  WithOwner, WithNewOwner: owns every lock, and hides what is further out
//	*boundScope  a goroutine that another one works for: stands for the calling goroutine
type scope interface {
	// around is the next scope outward, nil at the end.
	around() scope
}

type scopeKey struct{}

func scopeOf(ctx context.Context) scope {
	s, _ := ctx.Value(scopeKey{}).(scope)
	return s
}

type namedScope struct {
	owner string // second half of the owner's field
	err   error  // instead of it: the name was refused
	outer scope
}

func (s *namedScope) around() scope { return s.outer }
func (h *handle) around() scope     { return h.outer }

// identity is who a call acts for.
type identity struct {
	owner     string     // field in the lock's hash
	ownership *ownership // that ctx comes from, live a moment ago; nil: ctx comes from none of this lock
	lost      error      // ctx comes from a hold of this lock that is lost
	shared    bool       // other calls may act for the same owner at the same time
}

// is reports whether an ownership is the one that the call acts in, or can enter.
func (id *identity) is(o *ownership) bool {
	return o.owner == id.owner && (id.ownership == nil || id.ownership == o)
}

// identify finds out who acts on the lock with ctx: the hold of this lock that ctx comes from,
// else the owner that it names, else the calling goroutine. A hold that was released counts for
// nothing: with its stale ctx nobody may enter a later hold of the same goroutine.
func (l *Lock) identify(ctx context.Context) (identity, error) {
	if s := scopeOf(ctx); s != nil || l.err != nil {
		return l.find(s, false)
	}
	return identity{owner: l.c.goroutine()}, nil
}

// identifyToLeave is identify for an Unlock. A hold that was released counts as long as the tenure
// lasts: a nested Lock with its ctx may have outlived it.
func (l *Lock) identifyToLeave(ctx context.Context) (identity, error) {
	return l.find(scopeOf(ctx), true)
}

func (l *Lock) find(s scope, leaving bool) (identity, error) {
	if l.err != nil {
		return identity{}, l.err
	}
	var bound *boundScope
	for ; s != nil; s = s.around() {
		id, found := identity{}, false
		switch s := s.(type) {
		case *handle:
			id, found = l.ownedBy(s, leaving)
		case *coverScope:
			id, found = l.coveredBy(s.cover, leaving)
		case *namedScope:
			return identity{owner: l.c.id + ":" + s.owner, shared: true}, s.err
		case *boundScope:
			if bound == nil {
				bound = s
			}
		}
		if found {
			return id, nil
		}
	}
	if bound != nil {
		return identity{owner: l.c.id + ":" + bound.owner, shared: true}, nil
	}
	return identity{owner: l.c.goroutine()}, nil
}

// ownedBy is the identity that a hold gives, if it is one of this lock and has not ended by a
// release.
func (l *Lock) ownedBy(hold *handle, leaving bool) (id identity, found bool) {
	o := hold.h
	if o.s.c != l.c || o.s.name != l.name {
		return identity{}, false
	}
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	switch {
	case hold.released && !(leaving && o.state == live):
		return identity{}, false
	case o.state == live:
		return identity{owner: o.owner, ownership: o, shared: true}, true
	case errors.Is(o.err, ErrLost):
		return identity{owner: o.owner, lost: o.err, shared: true}, true
	}
	return identity{}, false
}

// coveredBy is the identity that a hold on a lock over several gives, if this lock is one of them.
func (l *Lock) coveredBy(cover Cover, leaving bool) (id identity, found bool) {
	p := l.part()
	if leaving {
		if hold := cover.Had(p); hold != nil {
			if id, found := l.ownedBy(hold.handle, true); found && id.ownership != nil {
				return id, true
			}
		}
		if owner, at, ended := cover.Ended(p); ended {
			if id, found := l.heldSince(l.c.id+":"+owner, at); found {
				return id, true
			}
		}
	}
	covering, covered := cover.Covers(p)
	if covered && covering.Hold != nil {
		if id, found := l.ownedBy(covering.Hold.handle, leaving); found {
			return id, true
		}
		covering, covered = cover.Covers(p) // released since, and perhaps the cover with it
	}
	if !covered {
		return identity{}, false
	}
	return identity{owner: l.c.id + ":" + covering.Owner, lost: covering.Lost, shared: true}, true
}

// heldSince is the identity of the owner if it holds the lock, and took it no later than then.
func (l *Lock) heldSince(owner string, then time.Time) (id identity, found bool) {
	s := l.c.findState(l)
	if s == nil {
		return identity{}, false
	}
	defer s.dropUser()
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.holder
	if o == nil || o.state != live || o.owner != owner || o.since.After(then) {
		return identity{}, false
	}
	return identity{owner: owner, ownership: o, shared: true}, true
}
