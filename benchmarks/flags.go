//go:build unix

package main

import (
	"flag"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/bench"
)

type options struct {
	config   bench.Config
	json     string
	plots    string
	markdown string
	from     string
}

func parse(args []string) (o options, err error) {
	c := &o.config
	flags := flag.NewFlagSet("benchmarks", flag.ExitOnError)
	flags.DurationVar(&c.Slice, "slice", 75*time.Millisecond, "in each sweep each peer works so long")
	flags.DurationVar(&c.Lead, "lead", 20*time.Millisecond, "and so long before that, which does not count")
	flags.IntVar(&c.Sweeps, "sweeps", 48, "sweeps; the medians of the slices and of the ratios of those in a sweep count")
	flags.DurationVar(&c.For, "for", 1500*time.Millisecond, "length of the windows, for what a slice is too short for")
	flags.DurationVar(&c.Warm, "warm", 250*time.Millisecond, "work so long before each window")
	flags.DurationVar(&c.WarmJVM, "warm-jvm", 10*time.Second, "and so long before the first of a JVM")
	flags.IntVar(&c.Rounds, "rounds", 3, "rounds of windows; the median counts")
	flags.IntVar(&c.Waiters, "waiters", 10_000, "waiters for one lock in crowd and crowd-spread")
	flags.IntVar(&c.Names, "names", 100_000, "names in churn")
	flags.IntVar(&c.Locks, "locks", 100_000, "locks to hold at once in many-held")
	flags.DurationVar(&c.Lease, "lease", 30*time.Second, "their lease, renewed each third of it")
	flags.DurationVar(&c.Rest, "rest", 2*time.Second, "wait so long before looking at what crowd and churn have left behind")
	flags.StringVar(&c.Jar, "jar", "../examples/redisson/target/peer.jar", "the Java program that runs Redisson")
	flags.StringVar(&o.json, "json", "", "write all figures to this `file`")
	flags.StringVar(&o.plots, "plots", "", "draw plots (SVG) into this `directory`")
	flags.StringVar(&o.markdown, "markdown", "", "write the tables into this `file`, between its two comments")
	flags.StringVar(&o.from, "from", "", "measure nothing: show the figures of this JSON `file`")
	only := flags.String("only", "", "workloads whose names match this `regexp`")
	peers := flags.String("peers", "", "these peers only, a `list` with commas")
	quick := flags.Bool("quick", false, "one short round of all, with a tenth of the waiters, names and locks, and a short lease")
	flags.Parse(args) // exits on an error

	if *quick {
		set := make(map[string]bool) // what is given beside -quick counts
		flags.Visit(func(f *flag.Flag) { set[f.Name] = true })
		shorten(c, set)
	}
	if min(c.For, c.Slice) <= 0 || c.Rounds < 1 || min(c.Locks, c.Names, c.Waiters) < 10 || c.Lease < 300*time.Millisecond || flags.NArg() > 0 {
		return o, fmt.Errorf("usage: times and rounds are more than 0, waiters, names and locks 10 or more, a lease is 300ms or more, and there are no arguments but flags")
	}
	if *only != "" {
		if c.Only, err = regexp.Compile(*only); err != nil {
			return o, err
		}
	}
	if *peers != "" {
		c.Peers = strings.Split(*peers, ",")
	}
	return o, nil
}

func shorten(c *bench.Config, set map[string]bool) {
	short := func(name string, shorten func()) {
		if !set[name] {
			shorten()
		}
	}
	short("sweeps", func() { c.Sweeps = 10 })
	short("for", func() { c.For = 500 * time.Millisecond })
	short("warm", func() { c.Warm = 200 * time.Millisecond })
	short("warm-jvm", func() { c.WarmJVM = 2 * time.Second })
	short("rounds", func() { c.Rounds = 1 })
	short("waiters", func() { c.Waiters /= 10 })
	short("names", func() { c.Names /= 10 })
	short("locks", func() { c.Locks /= 10 })
	short("lease", func() { c.Lease = 6 * time.Second })
}
