//go:build unix

// Compare measures two versions of Redlatch against each other and fails if the newer one
// is slower in any row, by more than 3 % beyond the spread:
//
//	make compare BASE=main
//	go run -C benchmarks ./compare -base HEAD~3 -head HEAD -only 'one lock' -limit 10m
//
// Without -head the newer version is the working tree. Both are built with the same code
// of the benchmarks, on the same version of go-redis, and work in turns on one
// redis-server. docs/benchmarks.md has the method.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/compare"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var errSlower = errors.New("slower by more than 3 %, beyond the spread")

func run(ctx context.Context, args []string) error {
	cfg, err := parse(args)
	if err != nil {
		return err
	}
	res, err := compare.Run(ctx, cfg)
	if res != nil {
		err = errors.Join(err, res.Print(os.Stdout))
	}
	if err != nil {
		return err
	}
	if res.Undecided() {
		fmt.Println("\nundecided rows need more slices: -only ROW -limit 15m, on a machine that does nothing else")
	}
	if res.Slower() {
		return errSlower
	}
	return nil
}

func parse(args []string) (c compare.Config, err error) {
	flags := flag.NewFlagSet("compare", flag.ExitOnError)
	flags.StringVar(&c.Module, "module", ".", "the directory of the benchmarks")
	flags.StringVar(&c.Base, "base", "HEAD", "the older `commit`")
	flags.StringVar(&c.Head, "head", "", "the newer `commit`; empty is the working tree")
	flags.DurationVar(&c.Slice, "slice", 50*time.Millisecond, "each version works so long in its turn")
	flags.DurationVar(&c.Lead, "lead", 15*time.Millisecond, "and so long before that, which does not count")
	flags.IntVar(&c.Pairs, "pairs", 24, "pairs of slices before the processes are replaced by new ones")
	flags.IntVar(&c.Passes, "passes", 5, "so often each row gets new processes")
	flags.DurationVar(&c.Limit, "limit", 5*time.Minute, "until then undecided rows get more slices")
	flags.IntVar(&c.Locks, "locks", 100_000, "locks to hold at once")
	flags.DurationVar(&c.Lease, "lease", 9*time.Second, "their lease, renewed each third of it")
	only := flags.String("only", "", "rows whose names match this `regexp`")
	flags.Parse(args) // exits on an error
	if *only != "" {
		if c.Only, err = regexp.Compile(*only); err != nil {
			return c, err
		}
	}
	c.Progress = func(pass int, row string) { fmt.Fprintf(os.Stderr, "pass %d: %s\n", pass, row) }
	c.Module, err = filepath.Abs(c.Module)
	return c, err
}
