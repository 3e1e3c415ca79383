package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch/internal/view"
)

// listing is what ls and top show.
type listing struct {
	*app
	pattern string
	waiting bool
	mine    bool
	every   time.Duration
	format  string
	each    *template.Template // of format; nil without
}

func (a *app) lsCommand() *cobra.Command {
	l := listing{app: a, pattern: "*"}
	cmd := &cobra.Command{
		Use:   "ls [PATTERN]",
		Short: "List the locks that are held",
		Long: `ls lists the locks whose names match PATTERN, a glob of Redis such as 'order:*', and which are held.

It looks at all keys, a hundred at a time, which other clients do not feel: a million keys take a few
seconds. --waiting is quick at any number of keys: it lists the locks that somebody waits for.
HELD is known for the twenty oldest holds of each Client that has a name.`,
		Example: "  redlatch ls\n  redlatch ls 'order:*' --json\n  redlatch ls --waiting",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				l.pattern = args[0]
			}
			return l.run(cmd)
		},
	}
	cmd.Flags().BoolVar(&l.waiting, "waiting", false, "only locks that somebody waits for; does not look at all keys")
	cmd.Flags().BoolVar(&l.mine, "mine", false, "only locks that a Client with a name holds on this machine")
	cmd.Flags().StringVar(&l.format, "format", "", "print each lock by a `template` of Go, such as '{{.Name}} {{.Holder}}'; its fields are Name, Kind, State, Holder, Field, From, Count, Held, Lease, Token, Waiters, Java and Others")
	cmd.Flags().DurationVar(&l.every, "watch", 0, "list again after so long, until interrupted")
	return cmd
}

func (a *app) topCommand() *cobra.Command {
	l := listing{app: a, pattern: "*", waiting: true}
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show the locks that somebody waits for, the longest queue first, until interrupted",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return l.run(cmd) },
	}
	cmd.Flags().DurationVar(&l.every, "every", 2*time.Second, "how often to look")
	return cmd
}

func (l *listing) run(cmd *cobra.Command) error {
	if l.format != "" {
		each, err := template.New("--format").Parse(l.format + "\n")
		if err == nil {
			err = each.Execute(io.Discard, &view.Row{}) // a field that there is not
		}
		if err != nil {
			return usage("--format: %w", err)
		}
		l.each = each
	}
	r, err := l.one()
	if err != nil {
		return err
	}
	defer r.close()
	if err := l.greet(cmd.Context(), r); err != nil {
		return err
	}
	if l.every <= 0 {
		return l.once(cmd.Context(), r)
	}
	ctx, stop := interrupted(cmd.Context())
	defer stop()
	for ctx.Err() == nil {
		if !l.json {
			fmt.Fprint(l.out, "\x1b[H\x1b[2J") // the top of an empty screen
		}
		if err := l.once(ctx, r); err != nil && ctx.Err() == nil {
			return err
		}
		sleep(ctx, l.every)
	}
	return nil
}

// once lists the locks one time.
func (l *listing) once(ctx context.Context, r *redlatch) error {
	names, err := l.find(ctx, r)
	if err != nil {
		return err
	}
	rows, err := r.look(ctx, names)
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r view.Row) bool { return !l.wanted(&r) })
	slices.SortStableFunc(rows, func(a, b view.Row) int {
		if l.every > 0 && a.Queue() != b.Queue() {
			return cmp.Compare(b.Queue(), a.Queue())
		}
		return strings.Compare(a.Name, b.Name)
	})
	return l.print(rows)
}

func (l *listing) print(rows []view.Row) error {
	if !l.json && l.each == nil {
		return table(l.out, rows)
	}
	for i := range rows {
		err := error(nil)
		if l.each != nil {
			err = l.each.Execute(l.out, &rows[i])
		} else {
			err = printJSON(l.out, rows[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// greet asks for a sign of life: the look at all keys that follows has no limit. A Redis that refuses PING lives.
func (l *listing) greet(ctx context.Context, r *redlatch) error {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	if err := r.rdb.Ping(ctx).Err(); unreachable(err) {
		return err
	}
	return nil
}

func (l *listing) find(ctx context.Context, r *redlatch) (names []string, err error) {
	if l.waiting {
		return r.Contended(ctx)
	}
	for name, err := range r.Locks(ctx, l.pattern) {
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// wanted leaves out what has changed since it was found, and what the flags leave out.
func (l *listing) wanted(r *view.Row) bool {
	host, _ := os.Hostname()
	switch {
	case l.mine && !strings.Contains(r.Holder, "@"+host+":"):
		return false
	case l.waiting:
		return r.Queue() > 0
	}
	return r.State != "free"
}
