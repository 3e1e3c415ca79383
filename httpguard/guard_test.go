package httpguard_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/redlatch/redlatch/httpguard"
	"github.com/redlatch/redlatch/internal/leaktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

func TestMain(m *testing.M) {
	logging.Disable()
	leaktest.Main(m)
}

// Requests for one order wait for each other; another order's do not.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	begun, finish := make(chan string, 3), make(chan struct{})
	s := mini(t, nil, func(w http.ResponseWriter, r *http.Request) {
		begun <- r.PathValue("id")
		<-finish
	})
	statuses := make(chan int, 3)
	ask := func(id string) {
		resp, _, err := s.get(t.Context(), id)
		if err != nil {
			t.Error(err)
			statuses <- 0
			return
		}
		statuses <- resp.StatusCode
	}
	go ask("42")
	if id := <-begun; id != "42" {
		t.Fatal(id)
	}
	go ask("42")
	redistest.Eventually(t, 10*time.Second, "the second one waits", func() bool { return s.locks.Stats().Waiting == 1 })
	go ask("43")
	if id := <-begun; id != "43" {
		t.Errorf("order %s is served while another request has its lock", id)
	}
	if n := s.rdb.Exists(t.Context(), "order:42", "order:43").Val(); n != 2 {
		t.Errorf("%d of the two locks are held", n)
	}
	close(finish)
	for range 3 {
		if status := <-statuses; status != http.StatusOK {
			t.Errorf("status %d", status)
		}
	}
	s.free(t, "order:42")
}

// The wait is over: 423, and when to come again.
func TestLocked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		wait, retryAfter time.Duration
		least, most      int // of Retry-After, in seconds
	}{
		{0, 0, 1, 1},
		{time.Second, 1500 * time.Millisecond, 2, 2},
		{0, 2 * time.Hour, 3500, 3600}, // what is left of the lease
	} {
		s := mini(t, func(g *httpguard.Guard) { g.Wait, g.RetryAfter = c.wait, c.retryAfter }, func(http.ResponseWriter, *http.Request) {
			t.Error("the handler was called")
		})
		// Of another node, so that Redis says when its lease ends.
		other, err := reentrant.New(s.rdb, reentrant.WithLease(3*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		hold, err := other.NewLock("order:42").Acquire(t.Context(), reentrant.WithFixedLease(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		resp := s.want(t, "42", http.StatusLocked)
		got, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		if err != nil || got < c.least || got > c.most {
			t.Errorf("at most %v: Retry-After: %d, %v; want %d to %d", c.retryAfter, got, err, c.least, c.most)
		}
		if err := errors.Join(hold.Release(t.Context()), other.Close(t.Context())); err != nil {
			t.Error(err)
		}
	}
}

func TestBadID(t *testing.T) {
	t.Parallel()
	s := mini(t, nil, func(http.ResponseWriter, *http.Request) {})
	for _, id := range []string{"%20", "a%2Fb", "%7B42%7D", "a:b", "%C3%A9", "4%0A2", "%00", strings.Repeat("4", 65)} {
		s.want(t, id, http.StatusBadRequest)
	}
	s.want(t, strings.Repeat("4", 64), http.StatusOK)
	s.want(t, "A-z_09", http.StatusOK)
	if httpguard.Valid("") {
		t.Error("the empty ID is valid")
	}
}

// What the handler locks with its ctx it re-enters, also on another goroutine.
func TestNested(t *testing.T) {
	t.Parallel()
	var s *shop
	s = mini(t, nil, func(w http.ResponseWriter, r *http.Request) {
		done := make(chan error)
		go func() {
			done <- s.locks.NewLock("order:42").Do(r.Context(), func(ctx context.Context) error {
				n, err := s.locks.NewLock("order:42").HoldCount(ctx)
				if err == nil && n != 2 {
					err = errors.New("the hold count is not 2")
				}
				return err
			})
		}()
		if err := <-done; err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	s.want(t, "42", http.StatusOK)
	s.free(t, "order:42")
}
