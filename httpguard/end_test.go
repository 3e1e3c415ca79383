package httpguard_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/httpguard"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// A panic is net/http's business, and the lock is free.
func TestPanic(t *testing.T) {
	t.Parallel()
	calls := 0 // guarded by the lock
	s := mini(t, nil, func(http.ResponseWriter, *http.Request) {
		if calls++; calls == 1 {
			panic("a bug")
		}
	})
	if resp, _, err := s.get(t.Context(), "42"); err == nil {
		t.Errorf("got %s after a panic", resp.Status)
	}
	s.want(t, "42", http.StatusOK)
}

// The client goes away while the handler runs: its ctx ends, and the lock is free.
func TestDisconnect(t *testing.T) {
	t.Parallel()
	begun, causes := make(chan struct{}), make(chan error, 1)
	s := mini(t, nil, func(w http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		causes <- context.Cause(r.Context())
	})
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if _, _, err := s.get(ctx, "42"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}()
	<-begun
	leave()
	if err := <-causes; !errors.Is(err, context.Canceled) || errors.Is(err, reentrant.ErrLost) {
		t.Errorf("the handler's ctx ended with %v", err)
	}
	<-gone
	s.free(t, "order:42")
	s.Close() // waits for the handler
	if len(s.log.written) > 0 {
		t.Errorf("the lock was not released as usual: %q", <-s.log.written)
	}
}

// A client that goes away while it waits does not wait any longer.
func TestDisconnectWaiting(t *testing.T) {
	t.Parallel()
	s := mini(t, func(g *httpguard.Guard) { g.Wait = time.Hour }, func(http.ResponseWriter, *http.Request) {
		t.Error("the handler was called")
	})
	hold, err := s.locks.NewLock("order:42").Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _, _ = s.get(ctx, "42")
	}()
	waiting := func(n int) func() bool { return func() bool { return s.locks.Stats().Waiting == n } }
	redistest.Eventually(t, 10*time.Second, "it waits", waiting(1))
	leave()
	<-gone
	redistest.Eventually(t, 10*time.Second, "it does not wait any more", waiting(0))
	if err := hold.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if len(s.log.written) > 0 {
		t.Errorf("logged %q", <-s.log.written)
	}
}

// The lock is lost: the handler's ctx ends and says why, and so does the log.
func TestLost(t *testing.T) {
	t.Parallel()
	var s *shop
	s = mini(t, nil, func(w http.ResponseWriter, r *http.Request) {
		if _, err := s.locks.NewLock("order:42").ForceUnlock(context.WithoutCancel(r.Context())); err != nil {
			t.Error(err)
		}
		select {
		case <-r.Context().Done():
		case <-time.After(20 * time.Second): // far off: it is the next renewal, within 1 s
		}
		if !errors.Is(context.Cause(r.Context()), reentrant.ErrLost) {
			t.Errorf("the ctx ended with %v", context.Cause(r.Context()))
		}
		http.Error(w, "the order is somebody else's now", http.StatusServiceUnavailable)
	})
	s.want(t, "42", http.StatusServiceUnavailable)
	s.logged(t, "lock lost while the handler ran")
}

// Redis is away: 503, also if it goes silent, at the end of the wait.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, away := range []func(){server.Stop, server.Kill} {
		server.Restart()
		s := open(t, server.Client(t), func(g *httpguard.Guard) { g.Wait = time.Second }, func(http.ResponseWriter, *http.Request) {})
		s.want(t, "42", http.StatusOK)
		s.free(t, "order:42")
		away()
		resp := s.want(t, "42", http.StatusServiceUnavailable)
		if got := resp.Header.Get("Retry-After"); got != "1" {
			t.Errorf("Retry-After: %s", got)
		}
		s.logged(t, "not locked")
	}
}

// A Client that closes serves nobody any more.
func TestClosing(t *testing.T) {
	t.Parallel()
	s := mini(t, nil, func(http.ResponseWriter, *http.Request) { t.Error("the handler was called") })
	if err := s.locks.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.want(t, "42", http.StatusServiceUnavailable)
	s.logged(t, "client closed")
}

// Without a logger nothing is logged, and nothing breaks.
func TestNoLogger(t *testing.T) {
	t.Parallel()
	s := mini(t, func(g *httpguard.Guard) { g.Logger = nil }, func(http.ResponseWriter, *http.Request) {})
	if err := s.locks.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	resp, body, err := s.get(t.Context(), "42")
	if err != nil || resp.StatusCode != http.StatusServiceUnavailable || strings.Contains(body, "redlatch") {
		t.Errorf("got %v, %q, %v", resp, body, err)
	}
}
