package redlatchgrpc

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/redlatch/redlatch/httpguard"
	"github.com/redlatch/redlatch/reentrant"
)

// Guard makes the interceptors. Its fields must not change once it is used.
type Guard struct {
	// Client makes the locks. It stays the caller's, who closes it after the server.
	Client *reentrant.Client

	// Options are those of the locks: reentrant.WithFencing, for one.
	Options []reentrant.LockOption

	// ID returns what the lock is for, of a call of the method ("/shop.Orders/Settle"). req is the request of a unary call,
	// and nil for a stream: no message was read yet, so the ID is in the metadata of ctx or nowhere. Without an ID ("") the
	// call is handled without a lock. Only IDs that httpguard.Valid takes are valid.
	ID func(ctx context.Context, method string, req any) string

	// Prefix goes before the ID in the lock's name: "order:". Others who use the lock must know the name.
	Prefix string

	// Wait is how long a call waits for its lock; 0 or less is a single attempt.
	Wait time.Duration

	// RetryAfter is the most that a caller is told to wait; 0 is 1 s. It is told less if the lease of the present holder
	// ends sooner.
	RetryAfter time.Duration

	// Logger gets what the caller is not told: why Redis could not be asked, and locks that were lost or not released. The
	// default is none.
	Logger *slog.Logger
}

// Unary returns the interceptor of unary calls, for grpc.UnaryInterceptor and grpc.ChainUnaryInterceptor. It comes after
// those that say who the caller is.
func (g *Guard) Unary() grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
		err = g.under(ctx, info.FullMethod, req, func(ctx context.Context) error {
			resp, err = handler(ctx, req)
			return err
		})
		return resp, err
	}
}

// Stream returns the interceptor of streams, for grpc.StreamInterceptor and grpc.ChainStreamInterceptor. The lock is held
// for as long as the stream is handled.
func (g *Guard) Stream() grpc.StreamServerInterceptor {
	return func(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		return g.under(s.Context(), info.FullMethod, nil, func(ctx context.Context) error {
			return handler(srv, &stream{ServerStream: s, ctx: ctx})
		})
	}
}

// stream is a stream with the ctx of the hold.
type stream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *stream) Context() context.Context { return s.ctx }

// under handles a call under its lock.
func (g *Guard) under(ctx context.Context, method string, req any, handle func(context.Context) error) (err error) {
	id := g.ID(ctx, method, req)
	if id == "" {
		return handle(ctx)
	}
	if !httpguard.Valid(id) {
		return status.Error(codes.InvalidArgument, "invalid ID")
	}
	name := g.Prefix + id
	hold, err := g.Client.NewLock(name, g.Options...).Acquire(ctx, reentrant.WithWait(g.Wait))
	if err != nil {
		return g.refuse(ctx, method, name, err)
	}
	// Deferred, so that a panic releases too.
	defer func() {
		if g.release(ctx, method, name, hold) && err != nil {
			err = lost(err)
		}
	}()
	return handle(context.WithValue(hold.Context(), holdKey{}, hold))
}

type holdKey struct{}

// HoldFrom returns the hold of the Guard that a handler's ctx comes from, the innermost one, or nil if there is none. Its
// Token is that of the fencing. The Guard releases it.
func HoldFrom(ctx context.Context) *reentrant.Hold {
	hold, _ := ctx.Value(holdKey{}).(*reentrant.Hold)
	return hold
}

// release reports whether the lock was lost.
func (g *Guard) release(ctx context.Context, method, name string, hold *reentrant.Hold) bool {
	err := hold.Release(ctx) // also of a call that has ended
	switch {
	case errors.Is(err, reentrant.ErrLost):
		g.log(ctx, slog.LevelError, "lock lost while the call was handled", method, name, err)
		return true
	case err != nil:
		g.log(ctx, slog.LevelWarn, "lock not released", method, name, err)
	}
	return false
}

func (g *Guard) log(ctx context.Context, level slog.Level, message, method, name string, err error) {
	if g.Logger != nil {
		g.Logger.LogAttrs(context.WithoutCancel(ctx), level, message,
			slog.String("lock", name), slog.String("method", method), slog.Any("error", err))
	}
}
