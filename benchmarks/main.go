//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
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
	if o.markdown != "" { // a mistake here is not to be found out after the run
		if err := report.CheckMarkdown(o.markdown); err != nil {
			return err
		}
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
	report.Print(os.Stdout, res, "")
	if o.json != "" {
		if err := report.WriteJSON(o.json, res); err != nil {
			return err
		}
	}
	if o.plots != "" {
		if err := report.Plot(o.plots, res); err != nil {
			return err
		}
	}
	if o.markdown != "" {
		images, err := o.images()
		if err != nil {
			return err
		}
		return report.WriteMarkdown(o.markdown, res, images)
	}
	return nil
}

// images is where the plots are, as seen from the document; empty if none are drawn.
func (o options) images() (string, error) {
	if o.plots == "" {
		return "", nil
	}
	images, err := filepath.Rel(filepath.Dir(o.markdown), o.plots)
	return filepath.ToSlash(images), err
}
