package httpguard_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/redlatch/redlatch/httpguard"
	"github.com/redlatch/redlatch/reentrant"
)

// The handler finds its hold, with the fencing token.
func TestHoldFrom(t *testing.T) {
	t.Parallel()
	var tokens []int64 // guarded by the lock
	s := mini(t, func(g *httpguard.Guard) { g.Options = []reentrant.LockOption{reentrant.WithFencing()} },
		func(_ http.ResponseWriter, r *http.Request) {
			tokens = append(tokens, httpguard.HoldFrom(r.Context()).Token())
		})
	s.want(t, "42", http.StatusOK)
	s.want(t, "42", http.StatusOK)
	if len(tokens) != 2 || tokens[0] < 1 || tokens[1] <= tokens[0] {
		t.Errorf("tokens %v", tokens)
	}
	if httpguard.HoldFrom(context.Background()) != nil {
		t.Error("a ctx without a Guard has a hold")
	}
}

// A program's own answer, with the reason.
func TestRefuse(t *testing.T) {
	t.Parallel()
	var refused []error
	s := mini(t, func(g *httpguard.Guard) {
		g.Wait = 0
		g.Refuse = func(w http.ResponseWriter, _ *http.Request, status int, err error) {
			refused = append(refused, err) // before the answer that the test waits for
			w.WriteHeader(status)
		}
	}, func(http.ResponseWriter, *http.Request) { t.Error("the handler was called") })
	hold, err := s.locks.NewLock("order:42").Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.want(t, "a%2Fb", http.StatusBadRequest)
	if resp := s.want(t, "42", http.StatusLocked); resp.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	if len(refused) != 2 || !errors.Is(refused[0], reentrant.ErrInvalidName) || !errors.Is(refused[1], reentrant.ErrBusy) {
		t.Errorf("refused %v", refused)
	}
	if err := hold.Release(t.Context()); err != nil {
		t.Error(err)
	}
}
