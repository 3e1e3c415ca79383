package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9/logging"
)

// Main runs an example on the server of REDIS_URL, or on one of its own if that is not
// set. Ctrl-C ends its ctx, and a second one the program at once.
func Main(name string, run func(ctx context.Context, out io.Writer, redisURL string) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	logging.Disable() // go-redis writes a line for every connection that is cut
	if err := run(ctx, os.Stdout, os.Getenv("REDIS_URL")); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Sleep waits for d or until ctx ends, and then returns why it did.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
