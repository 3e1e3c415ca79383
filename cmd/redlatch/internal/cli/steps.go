package cli

import (
	"fmt"
	"os"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch/reentrant"
)

// acquire, extend and release are for jobs of several steps, as in CI: no process lives as long as the lock, so its lease is
// fixed, and the holder's field passes from step to step.

func (a *app) acquireCommand() *cobra.Command {
	var t taking
	var owner string
	cmd := &cobra.Command{
		Use:   "acquire NAME",
		Short: "Take a lock and leave it taken, for a job of several steps",
		Long: `acquire takes the lock for --lease and prints the field of its holder, which extend and release need.
Nothing renews the lease: when it is over, the lock is free.`,
		Example: `  owner=$(redlatch acquire deploy --lease 15m --wait 5m)
  redlatch extend deploy --owner "$owner" --lease 15m
  redlatch release deploy --owner "$owner"`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.names,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := a.one()
			if err != nil {
				return err
			}
			defer r.leave()
			ctx, stop := interrupted(cmd.Context())
			defer stop()
			ctx = reentrant.WithOwner(ctx, owner)
			t.fixed = true
			hold, err := t.lock(r, args[0]).Acquire(ctx, t.terms(cmd)...)
			if err != nil {
				return err
			}
			if !a.json {
				_, err = fmt.Fprintln(a.out, hold.Owner())
				return err
			}
			return printJSON(a.out, map[string]any{"name": args[0], "owner": hold.Owner(), "token": hold.Token(), "lease_seconds": t.lease.Seconds()})
		},
	}
	t.flags(cmd, 10*time.Minute)
	cmd.Flags().StringVar(&owner, "as", byDefault(), "who holds it, for those who look")
	return cmd
}

// byDefault is user@host.
func byDefault() string {
	name, host := "redlatch", "?"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}

func (a *app) extendCommand() *cobra.Command {
	var lease time.Duration
	cmd := a.step("extend NAME", "Make a lock that acquire took live longer", `extend makes the lock live for --lease from now on, if the owner still holds it. It never shortens the time that
is left. The exit code is 79 if the owner has lost the lock.`,
		func(cmd *cobra.Command, l *reentrant.Lock, owner string) (bool, error) {
			return l.ExtendHolder(cmd.Context(), owner, lease)
		})
	cmd.Flags().DurationVar(&lease, "lease", 10*time.Minute, "how long the lock is to live from now")
	return cmd
}

func (a *app) releaseCommand() *cobra.Command {
	return a.step("release NAME", "Free a lock that acquire took", `release frees the lock if the owner still holds it. The exit code is 79 if it does not: it has lost the lock, or has
freed it before.`,
		func(cmd *cobra.Command, l *reentrant.Lock, owner string) (bool, error) {
			return l.ForceUnlockHolder(cmd.Context(), owner)
		})
}

// step is a command for the holder with a field.
func (a *app) step(use, short, long string, do func(cmd *cobra.Command, l *reentrant.Lock, owner string) (bool, error)) *cobra.Command {
	var owner string
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.names,
		RunE: func(cmd *cobra.Command, args []string) error {
			if owner == "" {
				return usage("--owner is missing: what acquire has printed")
			}
			r, err := a.one()
			if err != nil {
				return err
			}
			defer r.close()
			ctx, cancel := a.asking(cmd)
			defer cancel()
			cmd.SetContext(ctx)
			held, err := do(cmd, r.NewLock(args[0]), owner)
			switch {
			case err != nil:
				return err
			case !held:
				return &exitError{code: exitLost, err: fmt.Errorf("lock %q is not held by %s", args[0], owner)}
			case a.json:
				return printJSON(a.out, map[string]any{"name": args[0], "owner": owner})
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&owner, "owner", os.Getenv("REDLATCH_OWNER"), "the holder's `field`, as acquire has printed it; REDLATCH_OWNER otherwise")
	return cmd
}
