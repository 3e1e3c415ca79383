package redisio

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// ErrAborted is the outcome of a command whose goroutine was ended while it was under way, by a
// panic or runtime.Goexit in a hook of go-redis: it may have run.
var ErrAborted = errors.New("ended by a panic or Goexit in a hook or an event function")

// Processor sends one command; every go-redis client is one.
type Processor interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// Pipelined is a [Processor] that sends several commands in one round trip too, as the clients and
// connections of go-redis for one server do.
type Pipelined interface {
	Processor
	Pipeline() redis.Pipeliner
}
