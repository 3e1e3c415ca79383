package reentrant

import (
	"context"

	"github.com/redlatch/redlatch/internal/multi"
	"github.com/redlatch/redlatch/internal/scope"
)

// Ancestor says why a call that was not granted the lock waited for its own caller. It waited for a
// hold that its ctx comes from, or its goroutine has, and could not enter it again.
type Ancestor string

const (
	// AncestorHidden: ctx comes from a hold of this lock, and [WithOwner] or [WithNewOwner] hides that
	// hold.
	AncestorHidden Ancestor = "WithOwner hides the hold that ctx comes from"
	// AncestorOtherClient: ctx comes from a hold of another Client. Only its own Client can enter
	// it again.
	AncestorOtherClient Ancestor = "ctx comes from a hold of another Client"
	// AncestorGoroutine: the calling goroutine holds the lock, and ctx names another owner.
	AncestorGoroutine Ancestor = "the calling goroutine holds the lock, and ctx names another owner"
)

// complete adds to the error of a refused call what the Client knows of the holder, and whether the call
// waited for its own caller.
func (l *Lock) complete(ctx context.Context, err error) {
	if refused, is := err.(*NotAcquiredError); is {
		refused.HolderName = l.c.nameOf(refused.Holder)
		refused.Ancestor = l.ancestor(ctx, refused.Holder)
	}
}

// ancestor looks for the holder among the callers of a refused call, from which its ctx comes. holder is
// the holder's field, if the Client knows it.
func (l *Lock) ancestor(ctx context.Context, holder string) Ancestor {
	hidden, goroutine := false, ""
	for s := scope.Of(ctx); s != nil; s = s.Outer() {
		var hold *handle
		switch s := s.(type) {
		case *scope.Named:
			hidden = true
		case *scope.Bound:
			goroutine = s.Owner
		case *holdScope:
			hold = (*handle)(s)
		case multi.Cover:
			covering, _ := s.Covers(l.part())
			hold = handleOf(covering.Hold)
		}
		if hold == nil {
			continue
		}
		if id, found := l.ownedBy(hold, false); hidden && found && id.ownership != nil {
			return AncestorHidden
		}
		if hold.sameKey(l) && hold.h.Owner() == holder {
			return AncestorOtherClient
		}
	}
	if !hidden {
		return ""
	}
	caller := l.c.goroutine()
	if goroutine != "" {
		caller = l.c.id + ":" + goroutine
	}
	if holder == l.fieldOf(caller) {
		return AncestorGoroutine
	}
	return ""
}

// sameKey reports whether the hold is a hold of another Client on a lock with the same key.
func (h *handle) sameKey(l *Lock) bool {
	s := h.h.s
	return s.c != l.c && s.keys.Lock == l.keys.Lock
}
