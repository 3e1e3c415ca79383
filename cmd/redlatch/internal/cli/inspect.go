package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch/internal/view"
)

func (a *app) inspectCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "inspect NAME",
		Short:             "Tell who holds a lock and who waits for it",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.names,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := a.one()
			if err != nil {
				return err
			}
			defer r.close()
			ctx, cancel := a.asking(cmd)
			defer cancel()
			rows, err := r.look(ctx, args)
			if err != nil {
				return err
			}
			if a.json {
				return printJSON(a.out, rows[0])
			}
			a.describe(&rows[0])
			return nil
		},
	}
}

// describe prints one lock for people.
func (a *app) describe(r *view.Row) {
	say := func(what, format string, args ...any) {
		fmt.Fprintf(a.out, "%-8s  %s\n", what, fmt.Sprintf(format, args...))
	}
	say("name", "%s", r.Name)
	say("kind", "%s", r.Kind)
	say("state", "%s", r.State)
	if r.State != "free" {
		say("holder", "%s", r.Holder)
		say("field", "%s", r.Field)
		say("holds", "%d", r.Count)
		say("held", "%s", lasting(r.Held))
		say("lease", "%s", or(lasting(r.Lease), "no end"))
	}
	for _, other := range r.Others {
		say("also", "%s", other)
	}
	if r.Token != 0 {
		say("token", "%d", r.Token)
	}
	for n, w := range r.Waiters {
		say(map[bool]string{true: "waiters", false: ""}[n == 0], "%s, %s", w.Who, lasting(w.Since))
	}
	if r.Java > 0 {
		say("redisson", "%d clients wait", r.Java)
	}
}

func (a *app) watchCommand() *cobra.Command {
	var every time.Duration
	cmd := &cobra.Command{
		Use:   "watch NAME...",
		Short: "Print a line for each change of some locks, until interrupted",
		Long: `watch prints a line whenever the state, the holder, the hold count or the number of waiters of a lock changes.
It looks twice a second, so it misses what is shorter. It does not subscribe: Redisson's clients and Redlatch
would take it for one that waits.`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.names,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := a.one()
			if err != nil {
				return err
			}
			defer r.close()
			return a.watch(cmd.Context(), r, args, every)
		},
	}
	cmd.Flags().DurationVar(&every, "every", 500*time.Millisecond, "how often to look")
	return cmd
}

func (a *app) watch(ctx context.Context, r *redlatch, names []string, every time.Duration) error {
	ctx, stop := interrupted(ctx)
	defer stop()
	before := make([]string, len(names))
	for ctx.Err() == nil {
		rows, err := r.look(ctx, names)
		if err != nil && ctx.Err() == nil {
			return err
		}
		for i := range rows {
			now := fmt.Sprint(rows[i].State, rows[i].Field, rows[i].Count, rows[i].Queue(), len(rows[i].Others))
			if before[i] == now {
				continue
			}
			before[i] = now
			if err := a.change(&rows[i]); err != nil {
				return err
			}
		}
		sleep(ctx, every)
	}
	return nil
}

func (a *app) change(r *view.Row) error {
	if a.json {
		return printJSON(a.out, struct {
			At time.Time `json:"at"`
			*view.Row
		}{time.Now(), r})
	}
	_, err := fmt.Fprintf(a.out, "%s  %s  %s  %s  waiters %s\n", time.Now().Format("15:04:05.000"), r.Name, r.State, or(r.Holder, "-"), waiting(r))
	return err
}

// interrupted is a ctx that ends with SIGINT or SIGTERM.
func interrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, slices.Clone(stopSignals)...)
}

var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM}

// sleep waits until d has passed or ctx has ended.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
