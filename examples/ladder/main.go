// Ladder shows the locks that people write on Redis, rung by rung: each fails before
// your eyes, and the next one mends it. After each, Redlatch in the same scenario.
//
//	go run ./examples/ladder            # all of them, in about 8 seconds
//	go run ./examples/ladder -rung 4    # one of them
//	go run ./examples/ladder -svg DIR   # and draw what happened into DIR
//
// It brings its own Redis, a miniredis inside the process. With REDIS_URL set, for
// example to redis://localhost:6379, rungs 1 to 6 use that server and leave no key
// behind; rung 7, in which servers fail, always has its own.
//
// What happens is forced, not left to luck: a process waits for the moment at which it
// does harm. What is told is observed: verdicts come from the recording of the events, of
// who was inside, and of the lock's key in Redis. docs/why.md has the story.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/redis/go-redis/v9/logging"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	logging.Disable()            // go-redis writes a line for every connection that is cut
	err := run(ctx, os.Args[1:], os.Stdout, os.Getenv("REDIS_URL"))
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "ladder:", err)
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "ladder:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("wrong arguments")

// run climbs the ladder and prints it, on the server at redisURL or, if that is empty,
// on one of its own. When ctx ends it stops and removes its keys.
func run(ctx context.Context, args []string, out io.Writer, redisURL string) error {
	flags := flag.NewFlagSet("ladder", flag.ContinueOnError)
	flags.SetOutput(out)
	only := flags.Int("rung", 0, "show this rung only, 1 to 7")
	dir := flags.String("svg", "", "also draw each rung into this directory")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if flags.NArg() > 0 || *only < 0 || *only > len(ladder) {
		return fmt.Errorf("%w: rungs are 1 to %d, and there is nothing else to name", errUsage, len(ladder))
	}
	t, err := newTheatre(ctx, redisURL)
	if err != nil {
		return err
	}
	defer t.close()

	p := newPrinter(out)
	p.introduce(t.where)
	for _, r := range ladder {
		if *only != 0 && *only != r.number {
			continue
		}
		p.title(r)
		var played []*recording
		for _, a := range r.acts {
			rec, err := t.play(ctx, a)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				return fmt.Errorf("rung %d, %s: %w", r.number, a.who, err)
			}
			p.act(a, rec)
			played = append(played, rec)
		}
		if *dir != "" {
			file := filepath.Join(*dir, r.picture())
			if err := os.WriteFile(file, draw(r, played), 0o644); err != nil {
				return err
			}
			p.drew(file)
		}
	}
	return nil
}
