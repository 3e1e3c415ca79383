package httpguard_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/httpguard"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// shop is a guarded server on a Redis of its own.
type shop struct {
	*httptest.Server
	rdb   *redis.Client
	locks *reentrant.Client
	guard *httpguard.Guard
	log   lines
}

// lines is what was logged; the server may write while the test reads.
type lines struct {
	written chan string
}

func (l *lines) Write(p []byte) (int, error) {
	l.written <- string(p)
	return len(p), nil
}

// open serves handler under /orders/{id}. change may change the guard.
func open(t *testing.T, rdb *redis.Client, change func(*httpguard.Guard), handler http.HandlerFunc) *shop {
	t.Helper()
	locks, err := reentrant.New(rdb, reentrant.WithLease(3*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	s := &shop{rdb: rdb, locks: locks, log: lines{make(chan string, 100)}}
	s.guard = &httpguard.Guard{
		Client: locks,
		ID:     func(r *http.Request) string { return r.PathValue("id") },
		Prefix: "order:",
		Wait:   10 * time.Second,
		Logger: slog.New(slog.NewTextHandler(&s.log, nil)),
	}
	if change != nil {
		change(s.guard)
	}
	mux := http.NewServeMux()
	mux.Handle("/orders/{id}", s.guard.Wrap(handler))
	s.Server = httptest.NewUnstartedServer(mux)
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // of the panic
	s.Start()
	t.Cleanup(func() {
		s.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := locks.Close(ctx); err != nil {
			t.Errorf("a lock was left: %v", err)
		}
	})
	return s
}

func mini(t *testing.T, change func(*httpguard.Guard), handler http.HandlerFunc) *shop {
	_, rdb := redistest.Mini(t)
	return open(t, rdb, change, handler)
}

// get asks for an order. It may be called from any goroutine.
func (s *shop) get(ctx context.Context, id string) (*http.Response, string, error) {
	req, err := http.NewRequestWithContext(ctx, "GET", s.URL+"/orders/"+id, nil)
	if err != nil {
		return nil, "", err
	}
	resp, err := s.Client().Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, strings.TrimSpace(string(body)), err
}

// want asks for an order and wants that answer.
func (s *shop) want(t *testing.T, id string, status int) *http.Response {
	t.Helper()
	resp, body, err := s.get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != status {
		t.Fatalf("%s: got %s, %q; want %d", id, resp.Status, body, status)
	}
	return resp
}

// free wants the lock free, soon.
func (s *shop) free(t *testing.T, name string) {
	t.Helper()
	redistest.Eventually(t, 10*time.Second, "the lock is free", func() bool {
		return s.rdb.Exists(t.Context(), name).Val() == 0
	})
}

func (s *shop) logged(t *testing.T, text string) {
	t.Helper()
	select {
	case line := <-s.log.written:
		if !strings.Contains(line, text) {
			t.Errorf("logged %q, want %q", line, text)
		}
	case <-time.After(10 * time.Second):
		t.Errorf("nothing was logged, want %q", text)
	}
}
