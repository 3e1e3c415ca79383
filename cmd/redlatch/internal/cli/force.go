package cli

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/redlatch/redlatch/internal/view"
)

func (a *app) forceCommand() *cobra.Command {
	var holder string
	var yes bool
	cmd := &cobra.Command{
		Use:   "force-unlock NAME",
		Short: "Take a lock away from its holder",
		Long: `force-unlock shows who holds the lock, asks, and frees it, if the holder is still the same by then.
A holder that lives is told at its next renewal, a third of the lease later at most, and goes on until then.
The exit code is 1 if the lock was free, or another's by then.

--holder FIELD frees it only if that is the holder: the field that inspect and ls --json show.`,
		Example:           "  redlatch force-unlock order:42\n  redlatch force-unlock order:42 --holder 5f0c4e6a-...:17 --yes",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.names,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := a.one()
			if err != nil {
				return err
			}
			defer r.close()
			return a.force(cmd, r, args[0], holder, yes)
		},
	}
	cmd.Flags().StringVar(&holder, "holder", "", "free it only if the holder's `field` is this one")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

// force frees the lock from the holder that it has shown.
func (a *app) force(cmd *cobra.Command, r *redlatch, name, holder string, yes bool) error {
	ctx, cancel := a.asking(cmd)
	defer cancel()
	info, err := r.Inspect(ctx, name)
	if err != nil {
		return err
	}
	since, _ := view.GrantsOf(ctx, r.Client)
	seen := view.Of(info, since)
	switch {
	case !info.Held:
		return a.forced(&seen, false, "is free")
	case holder == "":
		holder = info.Holder.Field
	case holder != info.Holder.Field && info.Mode == "":
		return a.forced(&seen, false, "is held by "+seen.Holder+" (field "+seen.Field+")")
	}
	if !yes {
		if err := a.ask(fmt.Sprintf("%s is held by %s for %s, lease left %s, %s waiting. Free it? [y/N] ",
			name, seen.Holder, or(lasting(seen.Held), "?"), lasting(seen.Lease), waiting(&seen))); err != nil {
			return err
		}
	}
	again, cancel := a.asking(cmd) // the question may have taken longer than the limit
	defer cancel()
	lock := r.NewLock(name)
	switch info.Kind {
	case "fair":
		lock = r.NewFairLock(name)
	case "read-write":
		lock = r.NewReadWriteLock(name).Write()
	}
	freed, err := lock.ForceUnlockHolder(again, holder)
	if err != nil {
		return err
	}
	if !freed {
		return a.forced(&seen, false, "is not held by that owner any more")
	}
	return a.forced(&seen, true, "was taken from "+seen.Holder)
}

// forced says what came of it.
func (a *app) forced(r *view.Row, freed bool, what string) error {
	if a.json {
		if err := printJSON(a.out, struct {
			Freed bool `json:"freed"`
			*view.Row
		}{freed, r}); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.out, "%s %s\n", r.Name, what)
	}
	if !freed {
		return result(exitFailed)
	}
	return nil
}

// ask waits for a yes on a terminal.
func (a *app) ask(question string) error {
	if !term.IsTerminal(int(a.in.Fd())) {
		return usage("%w", errors.New("there is no terminal to ask: give --yes, or --holder FIELD --yes"))
	}
	fmt.Fprint(a.errs, question)
	answer, _ := bufio.NewReader(a.in).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return result(exitFailed)
	}
	return nil
}
