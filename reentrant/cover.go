package reentrant

import (
	"context"
	"strconv"
	"time"
)

// Cover is a hold on a lock over several others, for package multilock.
type Cover interface {
	// Covers says what the hold has of a part. It reports false if the part is not one of its
	// lock's, or the hold was released.
	Covers(p Part) (Covering, bool)

	// Had returns the hold on the part that the cover has or had last, also when it is released or lost; nil if
	// there is none. For an Unlock it leads to the tenure, in which a nested Lock may have outlived the cover.
	Had(p Part) *Hold

	// Ended says whose the cover was and when it was released or lost, if it was and the part is one of its
	// lock's. A part that it did without may have been locked with its ctx before, by that owner.
	Ended(p Part) (owner string, at time.Time, ended bool)
}

// Covering is what a [Cover] has of one part, for package multilock.
type Covering struct {
	Hold  *Hold  // nil: the hold does without this part
	Owner string // of the covering hold, without a Client's ID
	Lost  error  // the covering hold is lost; nil: it is not
}

type coverScope struct {
	cover Cover
	outer scope
}

func (s *coverScope) around() scope { return s.outer }

// CoverContext returns a ctx with which every part of the cover is entered again, for package
// multilock.
func CoverContext(ctx context.Context, cover Cover) context.Context {
	return context.WithValue(ctx, scopeKey{}, &coverScope{cover: cover, outer: scopeOf(ctx)})
}

// boundScope is transparent: what ctx comes from and names goes first, as it does for the
// goroutine that is worked for.
type boundScope struct {
	owner string
	outer scope
}

func (s *boundScope) around() scope { return s.outer }

// BindOwner is for package multilock; programs do not need it. It is for code that does one
// owner's work on several goroutines and waits for them. It returns the owner, without a Client's
// ID: that of the innermost [Cover] in ctx for which find returns true, else the one that ctx
// names, else the calling goroutine. With bound the other goroutines act as the calling one does. The
// error is [ErrInvalidOwner].
func BindOwner(ctx context.Context, find func(Cover) (owner string, found bool)) (bound context.Context, owner string, err error) {
	owner, err = boundOwner(ctx, find)
	if err != nil {
		return nil, "", err
	}
	return context.WithValue(ctx, scopeKey{}, &boundScope{owner: owner, outer: scopeOf(ctx)}), owner, nil
}

func boundOwner(ctx context.Context, find func(Cover) (owner string, found bool)) (string, error) {
	bound := ""
	for s := scopeOf(ctx); s != nil; s = s.around() {
		switch s := s.(type) {
		case *coverScope:
			if owner, found := find(s.cover); found {
				return owner, nil
			}
		case *namedScope:
			return s.owner, s.err
		case *boundScope:
			if bound == "" {
				bound = s.owner
			}
		}
	}
	if bound != "" {
		return bound, nil
	}
	return strconv.FormatInt(goroutineID(), 10), nil
}
