//go:build unix

package redisson

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/load"
	"github.com/redlatch/redlatch/benchmarks/internal/peer"
)

// Fleet is some JVMs that stay up over the rounds of a workload, since a JVM that
// has just started is not what anybody runs.
type Fleet struct{ jvms []*jvm }

// Start starts n of them.
func Start(jar, addr string, n int) (*Fleet, error) {
	f := &Fleet{jvms: make([]*jvm, n)}
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f.jvms[i], errs[i] = startJVM(jar, addr) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		f.Stop()
		return nil, err
	}
	return f, nil
}

// Stop ends them.
func (f *Fleet) Stop() {
	var wg sync.WaitGroup
	for _, j := range f.jvms {
		if j != nil {
			wg.Go(j.stop)
		}
	}
	wg.Wait()
}

// command is a take-turns under way: some threads of one JVM at one lock.
type command struct {
	process int
	lock    string
	threads int
	answer  <-chan answer
}

// Warm has the threads work for a while, for the compiler.
func (f *Fleet) Warm(spec load.Spec, d time.Duration) error {
	commands, err := f.begin(spec, d)
	if err != nil {
		return err
	}
	for _, c := range commands {
		if a := <-c.answer; a.err != nil {
			return a.err
		}
	}
	return nil
}

// Team is a fleet with one piece of work, in one window after the other.
type Team struct {
	fleet    *Fleet
	spec     load.Spec
	commands []command
}

// Team prepares a piece of work.
func (f *Fleet) Team(spec load.Spec) *Team { return &Team{fleet: f, spec: spec} }

// Stop ends the fleet.
func (t *Team) Stop() { t.fleet.Stop() }

// Begin has the threads work from now until the window ends.
func (t *Team) Begin(win load.Window) (err error) {
	t.commands, err = t.fleet.begin(t.spec, win.End.Until())
	return err
}

// Results waits for all threads and records what they did in the window.
func (t *Team) Results(win load.Window) ([]load.Recording, error) {
	var all []turn
	for _, c := range t.commands {
		a := <-c.answer
		if a.err != nil {
			return nil, a.err
		}
		turns, err := parseTurns(a.value)
		if err != nil {
			return nil, err
		}
		for i := range turns {
			turns[i].process, turns[i].lock = c.process, c.lock
		}
		all = append(all, turns...)
	}
	return record(t.spec, len(t.fleet.jvms), all, win), nil
}

func (f *Fleet) begin(spec load.Spec, d time.Duration) ([]command, error) {
	var commands []command
	for process, j := range f.jvms {
		for _, c := range commandsOf(spec, process) {
			var err error
			c.answer, err = j.begin(peer.RedissonKind(spec.Peer), "take-turns", c.lock, c.threads, spec.Hold.Milliseconds(), d.Milliseconds())
			if err != nil {
				return nil, err
			}
			commands = append(commands, c)
		}
	}
	return commands, nil
}

// commandsOf is one command for all threads of a process, or one for each of its
// locks.
func commandsOf(spec load.Spec, process int) []command {
	if !spec.OwnLocks {
		return []command{{process: process, lock: spec.Name, threads: spec.Goroutines}}
	}
	var commands []command
	for i := range spec.Goroutines {
		commands = append(commands, command{process: process, lock: fmt.Sprintf("%s:%d:%d", spec.Name, process, i), threads: 1})
	}
	return commands
}
