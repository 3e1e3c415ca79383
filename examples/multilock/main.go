// Multilock shows a lock over five servers that outlives two of them:
//
//	go run ./examples/multilock
//
// It brings its own servers, five miniredis inside the process. With REDIS_URLS set to
// several URLs, separated by commas or blanks, it uses those. It takes a server down by
// cutting its own connections to it, so the servers themselves come to no harm, and
// leaves no lock behind.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9/logging"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	logging.Disable()            // go-redis writes a line for every server that is down
	if err := run(ctx, os.Stdout, os.Getenv("REDIS_URLS")); err != nil {
		fmt.Fprintln(os.Stderr, "multilock:", err)
		os.Exit(1)
	}
}

// run plays the scenario, on the servers at urls or, if that is empty, on five of its
// own. When ctx ends it stops and frees its locks.
func run(ctx context.Context, out io.Writer, urls string) (err error) {
	addresses := strings.FieldsFunc(urls, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
	if n := len(addresses); n != 0 && n < 3 {
		return fmt.Errorf("REDIS_URLS has %d servers: a quorum that outlives one of them needs three, five are better", n)
	}
	links, disconnect, err := connect(addresses)
	if err != nil {
		return err
	}
	defer disconnect()
	for _, link := range links {
		if err := link.rdb.Ping(ctx).Err(); err != nil {
			return fmt.Errorf("no answer from server %d: %w", link.number, err)
		}
	}
	s, err := newScenario(links, len(addresses) == 0, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.cleanUp(ctx)) }()

	s.introduce()
	for _, part := range []func(context.Context) error{s.acquire, s.minority, s.majority, s.comeBack} {
		switch err := part(ctx); {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		}
	}
	s.log.end()
	return nil
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
