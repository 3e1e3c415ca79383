package redlatchgrpc

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/redlatch/redlatch/reentrant"
)

// refuse is the status of a call that did not get the lock. Its text names neither the lock nor Redis.
func (g *Guard) refuse(ctx context.Context, method, name string, err error) error {
	var e *reentrant.NotAcquiredError
	if errors.As(err, &e) && e.Busy {
		return g.again(codes.Aborted, "another call for this is being handled", e.TTL)
	}
	if ctx.Err() != nil { // the call has ended, and nobody is to blame
		return status.FromContextError(ctx.Err()).Err()
	}
	g.log(ctx, slog.LevelError, "not locked", method, name, err)
	return g.again(codes.Unavailable, "try again later", 0)
}

// again is a status with RetryInfo. A TTL that Redis did not tell says nothing.
func (g *Guard) again(code codes.Code, text string, ttl time.Duration) error {
	after := g.RetryAfter
	if after <= 0 {
		after = time.Second
	}
	if ttl > 0 {
		after = min(after, ttl)
	}
	s := status.New(code, text)
	if detailed, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(after)}); err == nil {
		s = detailed
	}
	return s.Err()
}

// lost is what the caller gets after a loss: the handler's own status if it has one, and otherwise Aborted, since the
// handler has given up half-way because its ctx has ended.
func lost(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.Error(codes.Aborted, "given up half-way: the lock was lost")
}
