//go:build unix

package compare

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/clock"
	"github.com/redlatch/redlatch/benchmarks/internal/load"
	"github.com/redlatch/redlatch/benchmarks/internal/paired"
	"github.com/redlatch/redlatch/benchmarks/internal/server"
	"github.com/redlatch/redlatch/benchmarks/internal/shared"
)

// Config says what is compared and how long.
type Config struct {
	Module string // the directory of the benchmarks' go.mod
	Base   string // a commit
	Head   string // another; empty is the working tree
	Slice  time.Duration
	Lead   time.Duration // work before each slice that does not count
	Pairs  int           // of slices, with the same processes
	Passes int           // so often all rows get new processes and their pairs
	Limit  time.Duration // of all passes but the first; until then undecided rows get more
	Locks  int           // held at once
	Lease  time.Duration // theirs, renewed each third of it
	Only   *regexp.Regexp

	// Progress is told what is to come.
	Progress func(pass int, row string)
}

// warm is the work of new processes before their first slice.
const warm = 200 * time.Millisecond

type runner struct {
	cfg      Config
	srv      *server.Server
	dir      string
	versions [2]version // the base, and the other
	blocks   int        // names for locks
}

// Run builds both versions and has them work in turns on one redis-server.
//
// Two processes of one program can differ, by where their memory is and where the kernel
// puts them, as long as they live. So each row has many of them: a pass starts new ones
// for each row in turn. Beside an error there may be a result, of what came before it.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	dir, err := os.MkdirTemp("", "redlatch-compare-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	r := &runner{cfg: cfg, dir: dir}
	for i, commit := range []string{cfg.Base, cfg.Head} {
		at := filepath.Join(dir, fmt.Sprint("version", i))
		if err := os.Mkdir(at, 0o755); err != nil {
			return nil, err
		}
		if r.versions[i], err = build(ctx, cfg.Module, commit, at); err != nil {
			return nil, err
		}
	}
	if r.srv, err = server.Start(ctx); err != nil {
		return nil, err
	}
	defer r.srv.Stop()
	all := chosen(cfg)
	err = r.passes(ctx, all)
	return &Result{Base: r.versions[0].name, Head: r.versions[1].name, rows: all}, err
}

func chosen(cfg Config) (some []*row) {
	for _, one := range rows(cfg) {
		if cfg.Only == nil || cfg.Only.MatchString(one.Name) {
			some = append(some, one)
		}
	}
	return some
}

// passes gives all rows their blocks, and then the undecided ones more, until the time
// is over.
func (r *runner) passes(ctx context.Context, all []*row) error {
	end := time.Now().Add(r.cfg.Limit)
	for pass, more := 0, true; more; pass++ {
		more = false
		for _, one := range all {
			if pass >= r.cfg.Passes && one.decided() || pass > 0 && time.Now().After(end) {
				continue
			}
			r.cfg.Progress(pass+1, one.Name)
			if err := r.block(ctx, one, pass); err != nil {
				return fmt.Errorf("%s: %w", one.Name, err)
			}
			more = true
		}
	}
	return nil
}

// block is some pairs of slices with the same processes.
func (r *runner) block(ctx context.Context, one *row, pass int) error {
	if err := r.srv.Clear(ctx); err != nil {
		return err
	}
	var groups [2]*load.Group
	for _, i := range paired.Order(2, pass) {
		group, remove, err := r.start(one, r.versions[i])
		if err != nil {
			return fmt.Errorf("%s: %w", r.versions[i].name, err)
		}
		defer remove()
		groups[i] = group
	}
	if one.together {
		return r.side(ctx, one, groups)
	}
	for _, group := range groups {
		if _, err := work(group, slice(warm/2, warm/2)); err != nil {
			return err
		}
	}
	scale := max(1, one.scale)
	for sweep := range max(1, r.cfg.Pairs/scale) {
		for _, i := range paired.Order(2, pass+sweep) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			win := slice(r.cfg.Lead, r.cfg.Slice*time.Duration(scale))
			recs, err := work(groups[i], win)
			if err != nil {
				return fmt.Errorf("%s: %w", r.versions[i].name, err)
			}
			one.note(i, recs, win)
		}
	}
	return nil
}

// windowsHeld are those of a block, each as long as the period of renewal.
const windowsHeld = 3

// side has both versions work side by side.
func (r *runner) side(ctx context.Context, one *row, groups [2]*load.Group) error {
	for range windowsHeld {
		win := slice(r.cfg.Lead, one.work.Lease/3)
		for _, group := range groups {
			if err := group.Begin(win); err != nil {
				return err
			}
		}
		for i, group := range groups {
			recs, err := group.Results(win)
			if err := cmp.Or(ctx.Err(), err); err != nil {
				return fmt.Errorf("%s: %w", r.versions[i].name, err)
			}
			one.note(i, recs, win)
		}
	}
	return nil
}

// start starts the processes of a version, for a row.
func (r *runner) start(one *row, v version) (_ *load.Group, stop func(), err error) {
	r.blocks++
	spec := one.work
	spec.Addr, spec.Name = r.srv.Addr, fmt.Sprintf("compare:%d", r.blocks)
	spec.Words = filepath.Join(r.dir, fmt.Sprint("words", r.blocks))
	if err := shared.Create(spec.Words, max(4, one.processes*spec.Goroutines)); err != nil {
		return nil, nil, err
	}
	group, err := load.StartProgram(v.program, spec, one.processes)
	if err != nil {
		return nil, nil, err
	}
	return group, func() {
		group.Stop()
		os.Remove(spec.Words)
	}, nil
}

func slice(lead, d time.Duration) load.Window {
	start := clock.Now().Add(lead)
	return load.Window{Start: start, End: start.Add(d), Brief: true}
}

// work has a group work in a slice.
func work(group *load.Group, win load.Window) ([]load.Recording, error) {
	if err := group.Begin(win); err != nil {
		return nil, err
	}
	recs, err := group.Results(win)
	return recs, cmp.Or(load.Excluded(recs), err)
}
