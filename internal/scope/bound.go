package scope

import (
	"context"
	"strconv"

	"github.com/redlatch/redlatch/internal/goroutine"
)

// Bound is transparent: what ctx comes from and names goes first, as it does for the goroutine
// that is worked for.
type Bound struct {
	Owner string // without a Client's ID
	outer Scope
}

// Outer implements [Scope].
func (s *Bound) Outer() Scope { return s.outer }

// BindOwner is for code that does one owner's work on several goroutines and waits for them. It
// returns the owner, without a Client's ID: that of the innermost scope for which find returns
// true, else the one that ctx names, else the calling goroutine. With bound the other goroutines
// act as the calling one does. The error says that the name was refused.
func BindOwner(ctx context.Context, find func(Scope) (owner string, found bool)) (bound context.Context, owner string, err error) {
	owner, err = ownerOf(ctx, find)
	if err != nil {
		return nil, "", err
	}
	return With(ctx, &Bound{Owner: owner, outer: Of(ctx)}), owner, nil
}

func ownerOf(ctx context.Context, find func(Scope) (owner string, found bool)) (string, error) {
	bound := ""
	for s := Of(ctx); s != nil; s = s.Outer() {
		if owner, found := find(s); found {
			return owner, nil
		}
		switch s := s.(type) {
		case *Named:
			return s.Owner, s.Err
		case *Bound:
			if bound == "" {
				bound = s.Owner
			}
		}
	}
	if bound != "" {
		return bound, nil
	}
	return strconv.FormatInt(goroutine.ID(), 10), nil
}
