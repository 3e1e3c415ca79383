package locktest

import (
	"context"
	"testing"

	"github.com/redlatch/redlatch/reentrant"
)

// Owner is a ctx that stands for one owner, so that programs can be written without
// a goroutine for each.
func Owner(ctx context.Context, name string) context.Context {
	return reentrant.WithOwner(ctx, name)
}

// AsHolder is the owner "holder", the same in all goroutines of the test.
func AsHolder(t testing.TB) context.Context { return Owner(t.Context(), "holder") }

// AsWaiter is another.
func AsWaiter(t testing.TB) context.Context { return Owner(t.Context(), "waiter") }
