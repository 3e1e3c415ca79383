package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"
)

// app is one run of the program.
type app struct {
	connection
	in   *os.File
	out  io.Writer
	errs io.Writer
	json bool
}

// Main runs the program and returns its exit code.
func Main(args []string, in *os.File, out, errs io.Writer) int {
	logging.Disable() // what it says is in the errors
	a := &app{in: in, out: out, errs: errs}
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(context.Background())
	var exit *exitError
	if err != nil && !(errors.As(err, &exit) && exit.quiet) {
		a.complain(err)
	}
	return codeOf(err)
}

// complain says what is wrong, and what to do.
func (a *app) complain(err error) {
	fmt.Fprintf(a.errs, "redlatch: %s\n", plain(err))
	if what := advice(err, a.shown()); what != "" {
		fmt.Fprintf(a.errs, "          %s\n", what)
	}
	if codeOf(err) == exitUsage {
		fmt.Fprintln(a.errs, "          redlatch --help tells more")
	}
}

// built is the version of the module that go install has built; "(devel)" of a work tree.
func built() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "redlatch",
		Short: "Locks in Redis from the shell: run a command under a lock, see who holds one, free one",
		Long: `redlatch runs commands under locks in Redis, and shows who holds locks and who waits for them.
The locks are those of the Go library Redlatch and of Redisson in Java.

Exit codes of run are the command's. Otherwise: 64 usage, 69 no Redis, 75 busy, 77 no permission,
79 the lock was lost, 126 and 127 the command cannot be executed or found, 128+n ended by signal n.`,
		Version:      built(),
		SilenceUsage: true, SilenceErrors: true,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.errs)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage("%w", err) })
	a.flags(root.PersistentFlags())
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON")
	root.AddCommand(
		a.runCommand(), a.lsCommand(), a.inspectCommand(), a.watchCommand(), a.topCommand(), a.forceCommand(),
		a.acquireCommand(), a.extendCommand(), a.releaseCommand(), a.doctorCommand(), a.uiCommand(),
	)
	root.Args = asUsage(root.Args)
	for _, c := range root.Commands() {
		c.Args = asUsage(c.Args)
	}
	return root
}

// asUsage gives errors about arguments their exit code.
func asUsage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usage("%w", err)
		}
		return nil
	}
}

// asking is the ctx of a command that asks Redis and does not wait for a lock.
func (a *app) asking(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	return context.WithTimeout(cmd.Context(), a.timeout)
}

// limited is a ctx for clean-up.
func limited(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}

// names completes names of locks.
func (a *app) names(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, none
	}
	r, err := a.one()
	if err != nil {
		return nil, none
	}
	defer r.close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	found, _ := r.Contended(ctx)
	for name, err := range r.Locks(ctx, globbed(begun)) {
		if err != nil || len(found) >= 200 {
			break
		}
		found = append(found, name)
	}
	return unique(found, begun), none
}
