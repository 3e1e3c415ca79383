// Package scope has what a ctx carries of the holds that a call comes from, and of who it acts for.
package scope

import "context"

// A Scope is one link of the chain that a ctx carries, the innermost first. The chain says which
// holds a call comes from, and not who it is: a ctx that was the owner of every name let the
// goroutines of an errgroup, under the ctx of one lock, into another lock together.
//
//	package reentrant   a hold of one lock: owns that lock, while it lasts, and no other
//	package multilock   a hold on a lock over several: owns its members alike
//	*Named              WithOwner, WithNewOwner: owns every lock, and hides what is further out
//	*Bound              a goroutine that another one works for: stands for the calling goroutine
type Scope interface {
	// Outer is the next scope outward, nil at the end.
	Outer() Scope
}

type key struct{}

// Of returns the innermost scope of ctx, nil if there is none.
func Of(ctx context.Context) Scope {
	s, _ := ctx.Value(key{}).(Scope)
	return s
}

// With returns a ctx whose innermost scope is s. The Outer of s is the innermost scope of the given ctx.
func With(ctx context.Context, s Scope) context.Context { return context.WithValue(ctx, key{}, s) }

// Named is the scope of an owner that the program has named.
type Named struct {
	Owner string // without a Client's ID
	Err   error  // instead of it: the name was refused
	outer Scope
}

// Outer implements [Scope].
func (s *Named) Outer() Scope { return s.outer }

// WithNamed returns a ctx that names the owner. An err is returned by every call with the ctx instead.
func WithNamed(ctx context.Context, owner string, err error) context.Context {
	return With(ctx, &Named{Owner: owner, Err: err, outer: Of(ctx)})
}
