// Quickstart shows what a lock of Redlatch does, as it happens:
//
//	go run ./examples/quickstart
//
// It brings its own Redis, a miniredis inside the process. With REDIS_URL set, for
// example to redis://localhost:6379, it uses that server and leaves no key behind.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	if err := run(ctx, os.Stdout, os.Getenv("REDIS_URL")); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// run gives the tour, on the server at redisURL or, if that is empty, on one of
// its own. When ctx ends it stops and removes its keys.
func run(ctx context.Context, out io.Writer, redisURL string) (err error) {
	rdb, disconnect, err := connect(redisURL)
	if err != nil {
		return err
	}
	defer disconnect()
	if err := rdb.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("no answer from Redis: %w", err)
	}

	t, err := newTour(rdb, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.cleanUp(ctx)) }()

	t.introduce(redisURL == "")
	for _, section := range []func(context.Context) error{t.nesting, t.timeout, t.wakeUp, t.renewal, t.loss} {
		switch err := section(ctx); {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		}
	}
	t.log.end()
	return nil
}

// connect makes the redis client. Redlatch never makes or closes one: it is the
// program's.
func connect(redisURL string) (rdb *redis.Client, disconnect func(), err error) {
	if redisURL != "" {
		opts, err := redis.ParseURL(redisURL)
		if err != nil {
			return nil, nil, fmt.Errorf("REDIS_URL: %w", err)
		}
		rdb = redis.NewClient(opts)
		return rdb, func() { rdb.Close() }, nil
	}
	server, err := miniredis.Run()
	if err != nil {
		return nil, nil, err
	}
	server.ClockTTL(true) // keys expire as time passes, as they do in Redis
	rdb = redis.NewClient(&redis.Options{Addr: server.Addr()})
	return rdb, func() {
		rdb.Close()
		server.Close()
	}, nil
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
