package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/examples/internal/demo"
	"github.com/redlatch/redlatch/reentrant"
)

var roles = map[string]demo.Role{"holder": func(ctx context.Context, parent *demo.Parent) error {
	var j job
	if err := parent.Receive(ctx, &j); err != nil {
		return err
	}
	opts, err := redis.ParseURL(j.URL)
	if err != nil {
		return err
	}
	rdb := redis.NewClient(opts)
	defer rdb.Close()
	return holder(ctx, rdb, j.Lock, parent)
}}

// job is what the holder's process is told.
type job struct{ URL, Lock string }

// line is how the holder and the program talk to each other.
type line interface {
	Send(v any) error
	Receive(ctx context.Context, v any) error
}

// report is what the holder says: that it has the lock, what it writes, and how it ended.
// The stores are the program's, so a write is a message too, as to a database.
type report struct {
	Client string // once it has the lock
	Token  int64
	Write  string
	Ended  bool // at that time, whether its ctx had ended
	Lost   bool // at last, whether it did so with ErrLost
	Reason reentrant.LossReason
}

// holder is anna in part 3: she takes the lock, checks that she has it, and is stopped
// before she writes. The write carries the token of her hold.
func holder(ctx context.Context, rdb *redis.Client, name string, program line) (err error) {
	client, err := reentrant.New(rdb, reentrant.WithLease(lease), reentrant.WithLogger(nil))
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		err = errors.Join(err, client.Close(ctx))
	}()
	hold, err := client.NewLock(name, reentrant.WithFencing()).Acquire(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if released := hold.Release(ctx); !errors.Is(released, reentrant.ErrLost) {
			err = errors.Join(err, released)
		}
	}()

	// The check that everybody would make. What it says is true, and soon is not.
	if hold.Context().Err() != nil {
		return context.Cause(hold.Context())
	}
	if err := program.Send(report{Client: client.ID(), Token: hold.Token()}); err != nil {
		return err
	}
	var proceed string
	if err := program.Receive(ctx, &proceed); err != nil { // is stopped here
		return err
	}
	if err := program.Send(report{Write: "cancelled, by anna", Token: hold.Token(), Ended: hold.Context().Err() != nil}); err != nil {
		return err
	}

	select {
	case <-hold.Lost():
		cause := context.Cause(hold.Context())
		var lost *reentrant.LostError
		if !errors.As(cause, &lost) {
			return cause
		}
		return program.Send(report{Lost: errors.Is(cause, reentrant.ErrLost), Reason: lost.Reason})
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
