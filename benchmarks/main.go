//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/redlatch/redlatch/benchmarks/internal/bench"
	"github.com/redlatch/redlatch/benchmarks/internal/load"
	"github.com/redlatch/redlatch/benchmarks/internal/report"
)

func main() {
	load.Child()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	var res *bench.Result
	if o.from != "" {
		res, err = report.ReadJSON(o.from)
	} else {
		bar := report.NewProgress(os.Stderr)
		o.config.Progress = bar.Step
		res, err = bench.Run(ctx, o.config)
		bar.End()
	}
	if err != nil {
		return err
	}
	report.Print(os.Stdout, res)
	if o.json != "" {
		if err := report.WriteJSON(o.json, res); err != nil {
			return err
		}
	}
	if o.plots != "" {
		return report.Plot(o.plots, res)
	}
	return nil
}
