package redlatchgrpc_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	redlatchgrpc "github.com/redlatch/redlatch/adapters/grpc"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// calls are the two ways to ask for an order.
var calls = map[string]func(*shop, context.Context, string) error{"unary": (*shop).unary, "stream": (*shop).stream}

func want(t *testing.T, what string, err error, code codes.Code) {
	t.Helper()
	if errors.Is(err, io.EOF) { // the end of a stream
		err = nil
	}
	if status.Code(err) != code {
		t.Errorf("%s: got %v, want %v", what, err, code)
	}
}

// Two servers: calls for one order take turns, and another order is handled meanwhile. Who waits too long is told to come
// again.
func TestTurns(t *testing.T) {
	t.Parallel()
	for how, call := range calls {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			begun, finish := make(chan struct{}), make(chan struct{})
			first := open(t, server.Client(t), 0, func(ctx context.Context) error {
				if redlatchgrpc.HoldFrom(ctx).Token() < 1 {
					t.Error("no fencing token")
				}
				close(begun)
				<-finish
				return nil
			})
			second := open(t, server.Client(t), 100*time.Millisecond, func(context.Context) error { return nil })
			done := make(chan error)
			go func() { done <- call(first, t.Context(), "42") }()
			<-begun
			err := call(second, t.Context(), "42")
			want(t, "while it is handled", err, codes.Aborted)
			if after := retryAfter(err); after <= 0 || after > 2*time.Second {
				t.Errorf("RetryInfo: %v", after)
			}
			want(t, "another order", call(second, t.Context(), "43"), codes.OK)
			close(finish)
			want(t, "the first", <-done, codes.OK)
			want(t, "after it", call(second, t.Context(), "42"), codes.OK)
			want(t, "no ID", call(second, t.Context(), "{42}"), codes.InvalidArgument)
		})
	}
}

// A call without an ID has no lock.
func TestWithoutLock(t *testing.T) {
	t.Parallel()
	_, rdb := redistest.Mini(t)
	s := open(t, rdb, 0, func(ctx context.Context) error {
		if redlatchgrpc.HoldFrom(ctx) != nil {
			return errors.New("there is a hold")
		}
		return nil
	})
	want(t, "unary", s.unary(t.Context(), ""), codes.OK)
	want(t, "stream", s.stream(t.Context(), ""), codes.OK)
}

// The lock is lost: the handler's ctx ends and says why, and so does the log.
func TestLost(t *testing.T) {
	t.Parallel()
	for how, call := range calls {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			rdb := redistest.Start(t).Client(t)
			var s *shop
			s = open(t, rdb, 0, func(ctx context.Context) error {
				if _, err := s.locks.NewLock("order:42").ForceUnlock(context.WithoutCancel(ctx)); err != nil {
					t.Error(err)
				}
				select {
				case <-ctx.Done(): // by a renewal
				case <-time.After(10 * time.Second):
					t.Error("no renewal has noticed the loss for ten seconds")
					return nil
				}
				if cause := context.Cause(ctx); !errors.Is(cause, reentrant.ErrLost) {
					t.Errorf("the ctx ended with %v", cause)
				}
				return ctx.Err()
			})
			err := call(s, t.Context(), "42")
			want(t, "after the loss", err, codes.Aborted)
			if after := retryAfter(err); after != 0 {
				t.Errorf("RetryInfo: %v", after)
			}
			if !s.log.has("lock lost while the call was handled") {
				t.Error("the loss was not logged")
			}
		})
	}
}

// A panic that an outer interceptor recovers leaves no lock.
func TestPanic(t *testing.T) {
	t.Parallel()
	_, rdb := redistest.Mini(t)
	s := open(t, rdb, 0, func(context.Context) error { return nil })
	guard := &redlatchgrpc.Guard{Client: s.locks, ID: orderID, Prefix: "order:"}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic does not go on")
			}
		}()
		req := &health.HealthCheckRequest{Service: "42"}
		guard.Unary()(t.Context(), req, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) { panic("a bug") })
	}()
	want(t, "after a panic", s.unary(t.Context(), "42"), codes.OK)
}

// The handler's own status is the caller's.
func TestOwnStatus(t *testing.T) {
	t.Parallel()
	_, rdb := redistest.Mini(t)
	s := open(t, rdb, 0, func(context.Context) error { return status.Error(codes.NotFound, "no such order") })
	want(t, "unary", s.unary(t.Context(), "42"), codes.NotFound)
	want(t, "stream", s.stream(t.Context(), "42"), codes.NotFound)
}

// The caller goes away while it waits.
func TestCancelled(t *testing.T) {
	t.Parallel()
	_, rdb := redistest.Mini(t)
	s := open(t, rdb, time.Hour, func(context.Context) error { return errors.New("the handler was called") })
	hold, err := s.locks.NewLock("order:42").Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() { done <- s.unary(ctx, "42") }()
	waiting := func(n int) func() bool { return func() bool { return s.locks.Stats().Waiting == n } }
	redistest.Eventually(t, 10*time.Second, "it waits", waiting(1))
	cancel()
	want(t, "cancelled", <-done, codes.Canceled)
	redistest.Eventually(t, 10*time.Second, "it does not wait any more", waiting(0))
	if err := hold.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// Redis is away.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), 0, func(context.Context) error { return nil })
	server.Kill()
	err := s.unary(t.Context(), "42")
	want(t, "Redis is down", err, codes.Unavailable)
	if after := retryAfter(err); after != 2*time.Second {
		t.Errorf("RetryInfo: %v", after)
	}
	if !s.log.has("not locked") {
		t.Error("it was not logged")
	}
}
