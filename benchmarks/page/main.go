//go:build unix

// Page measures what other clients of a Redis feel while a page of package redlatchui is open: the time that their PINGs
// take, in slices with and without a page, in turns, on one redis-server with a million keys:
//
//	go run -C benchmarks ./page
//	go run -C benchmarks ./page -keys 10000 -rounds 2
//
// It fails if the p99 beside an open page is above 5 ms. The PINGs, the page's server and Redis share the machine's cores.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/pagecost"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, parse(os.Args[1:])); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var errTooSlow = errors.New("another client's PING takes more than 5 ms beside a page, 1 time in 100")

func run(ctx context.Context, cfg pagecost.Config) error {
	res, err := pagecost.Run(ctx, cfg)
	if err != nil {
		return err
	}
	if err := res.Print(os.Stdout); err != nil {
		return err
	}
	if res.TooSlow() {
		return errTooSlow
	}
	return nil
}

func parse(args []string) (c pagecost.Config) {
	flags := flag.NewFlagSet("page", flag.ExitOnError)
	flags.IntVar(&c.Strings, "keys", 1_000_000, "strings beside the locks, and a tenth as many hashes")
	flags.IntVar(&c.Locks, "locks", 1000, "locks that are held")
	flags.IntVar(&c.Waiters, "waiters", 50, "locks that are waited for, by one waiter each")
	flags.IntVar(&c.Rounds, "rounds", 6, "each has a slice without a page, one with it, and a search")
	flags.DurationVar(&c.Slice, "slice", 5*time.Second, "how long a slice is")
	flags.Parse(args) // exits on an error
	c.Hashes = c.Strings / 10
	return c
}
