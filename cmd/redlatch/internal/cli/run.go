package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/child"
	"github.com/redlatch/redlatch/reentrant"
)

// runner is one run of a command under a lock.
type runner struct {
	*app
	taking
	events
	busyCode int
	shell    bool
	atLeast  time.Duration
	grace    time.Duration
	onLost   string
	oncePer  time.Duration

	on    []*redlatch
	name  string
	line  []string
	owner string

	signals chan os.Signal
}

// runOwner is the owner of a run. Its Client has the name of the command.
const runOwner = "run"

func (a *app) runCommand() *cobra.Command {
	r := runner{app: a, owner: runOwner}
	cmd := &cobra.Command{
		Use:   "run [flags] NAME [--] COMMAND [ARG...]",
		Short: "Run a command under a lock",
		Long: `run takes the lock NAME, runs COMMAND, and frees the lock when the command has ended. The exit code is the command's.

The lock is renewed while the command runs. If it is lost all the same, the command's process group gets SIGTERM,
and SIGKILL after --grace; the exit code is 79. Signals go to the command, for whose end redlatch always waits.
Flags end at NAME: those of the command are its own. A run inside a run of the same name runs at once.

Several --url are independent servers, of which more than half have to grant the lock.`,
		Example: `  redlatch run nightly-report -- ./report.sh --month 2026-11
  redlatch run -n -E 0 backup pg_dump -f /backup/db.sql     # cron: nothing to do if another machine is at it
  redlatch run --wait 30s -c deploy './build && ./push'`,
		Args: cobra.MinimumNArgs(2),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return a.names(cmd, args, begun)
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd, args) },
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	r.taking.flags(cmd, 30*time.Second)
	f.BoolVar(&r.fixed, "fixed", false, "never renew the lease: the command has to end within it")
	f.IntVarP(&r.busyCode, "busy-code", "E", exitBusy, "exit code if another has the lock; 0 for cron that shall not mail")
	f.BoolVarP(&r.shell, "shell", "c", false, "COMMAND is one argument, for $SHELL -c")
	f.DurationVar(&r.atLeast, "hold-at-least", 0, "keep the lock taken for so long, also if the command ends sooner")
	f.DurationVar(&r.grace, "grace", 5*time.Second, "time between SIGTERM and SIGKILL after a loss; 0 kills at once")
	f.StringVar(&r.onLost, "on-lost", "term", "what the command gets when the lock is lost: term, kill or ignore")
	f.DurationVar(&r.oncePer, "once-per", 0, "do nothing if the command has succeeded within this time, on any machine")
	r.events.flags(f)
	return cmd
}

func (r *runner) run(cmd *cobra.Command, args []string) error {
	r.name, r.line = args[0], args[1:]
	if r.line[0] == "--" {
		r.line = r.line[1:]
	}
	if err := r.check(); err != nil {
		return err
	}
	if err := r.events.open(r.app); err != nil {
		return err
	}
	path, err := r.find()
	if err != nil {
		return err
	}
	opts := []reentrant.Option{reentrant.WithClientName(r.clientName())}
	if !r.fixed {
		opts = append(opts, reentrant.WithLease(r.lease))
	}
	if r.on, err = r.connection.open(opts...); err != nil {
		return err
	}
	defer func() {
		for _, on := range r.on {
			on.close()
		}
	}()
	r.signals = make(chan os.Signal, 16)
	signal.Notify(r.signals, child.Forwarded...)
	defer signal.Stop(r.signals)
	return r.locked(cmd, path)
}

func (r *runner) check() error {
	switch several := len(r.addresses()) > 1; {
	case len(r.line) == 0:
		return usage("run: the command is missing")
	case r.onLost != "term" && r.onLost != "kill" && r.onLost != "ignore":
		return usage("--on-lost %s: it is term, kill or ignore", r.onLost)
	case r.shell && len(r.line) != 1:
		return usage("-c takes the command as one argument, and has got %d", len(r.line))
	case several && r.fence:
		return usage("--fence: a quorum has no one counter, so give one --url")
	case several && r.oncePer > 0:
		return usage("--once-per: the mark is kept on one server, so give one --url")
	case r.busyCode < 0 || r.busyCode > 255:
		return usage("--busy-code %d: it is 0 to 255", r.busyCode)
	}
	return nil
}

// find finds the command before the lock is taken: who has mistyped it need not wait.
func (r *runner) find() (string, error) {
	if r.shell {
		shell := or(os.Getenv("SHELL"), child.Shell)
		r.line = []string{shell, "-c", r.line[0]}
	}
	path, err := child.Find(r.line[0])
	switch {
	case errors.Is(err, child.ErrNotFound):
		return "", &exitError{code: exitNotFound, err: err}
	case err != nil:
		return "", &exitError{code: exitNoExec, err: err}
	}
	return path, nil
}

// clientName is the command's name, as others see it.
func (r *runner) clientName() string {
	name := strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) || c == unicode.ReplacementChar {
			return -1
		}
		return c
	}, filepath.Base(r.line[0]))
	for len(name) > 64 {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	return or(name, "redlatch")
}

// locked takes the lock and runs the command, or runs it at once if a parent has the lock.
func (r *runner) locked(cmd *cobra.Command, path string) error {
	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	stop := r.cancelBySignal(cancel)
	asking, done := context.WithTimeout(ctx, r.timeout)
	nested := os.Getenv(heldEnv) != "" && heldByParent(asking, r.on, r.name)
	done()
	if nested {
		stop()
		r.tell("nested", "the lock is held by a parent of this process")
		return r.exec(path, nil, 0)
	}
	began := time.Now()
	h, token, err := r.take(reentrant.WithOwner(ctx, r.owner), cmd, r.on, r.name)
	stop()
	var by *signalled
	switch {
	case errors.As(context.Cause(ctx), &by):
		if err == nil {
			_ = r.release(h, 0)
		}
		return result(exitSignal + int(by.signal))
	case errors.Is(err, reentrant.ErrBusy):
		r.tell("busy", "%s", plain(err))
		return result(r.busyCode)
	case err != nil:
		return err
	}
	r.tell("acquired", "after %v", time.Since(began).Round(time.Millisecond))
	if r.oncePer > 0 {
		if at, err := r.done(ctx); err != nil || at != "" {
			if err == nil {
				r.tell("done", "the command has succeeded at %s", at)
			}
			return errors.Join(err, r.release(h, 0))
		}
	}
	return r.exec(path, h, token)
}

// signalled is the end of a wait by a signal.
type signalled struct{ signal syscall.Signal }

func (s *signalled) Error() string { return s.signal.String() }

// cancelBySignal ends the wait for the lock when a signal comes that ends programs. stop ends that.
func (r *runner) cancelBySignal(cancel context.CancelCauseFunc) (stop func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() { // ends with stop, which waits for it
		defer close(ended)
		for {
			select {
			case s := <-r.signals:
				if n, is := s.(syscall.Signal); is && child.Ends(n) {
					cancel(&signalled{n})
				}
			case <-over:
				return
			}
		}
	}()
	return func() {
		close(over)
		<-ended
	}
}

// release frees the lock, after what is left of --hold-at-least.
func (r *runner) release(h hold, after time.Duration) error {
	ctx, cancel := limited(5 * time.Second)
	defer cancel()
	if after > 0 {
		return h.ReleaseAfter(ctx, after)
	}
	return h.Release(ctx)
}

// environment is the child's.
func (r *runner) environment(h hold, token int64) []string {
	if h == nil {
		return os.Environ() // its parent's
	}
	env := slices.DeleteFunc(os.Environ(), ours) // of two with one name the first would count
	env = append(env, "REDLATCH_LOCK="+r.name, "REDLATCH_OWNER="+fieldOf(r.on[0], r.owner), heldEnv+"="+heldWith(r.on, r.owner, r.name))
	if r.fence {
		env = append(env, fmt.Sprint("REDLATCH_TOKEN=", token))
	}
	return env
}

// ours reports whether a variable is one that environment sets.
func ours(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return slices.Contains([]string{"REDLATCH_LOCK", "REDLATCH_OWNER", "REDLATCH_TOKEN", heldEnv}, name)
}
