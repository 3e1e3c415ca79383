package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check whether locks work with this Redis",
		Long: `doctor checks what locks need: the user's permissions, pub/sub, settings by which Redis may evict locks, the
clocks, and what ls needs. The exit code is 1 if locks do not work or may be evicted.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := a.one()
			if err != nil {
				return err
			}
			defer r.close()
			ctx, cancel := a.asking(cmd)
			defer cancel()
			return a.doctor(ctx, r)
		},
	}
}

// finding is one thing that doctor has looked at.
type finding struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	Says string `json:"says"`
}

func (a *app) doctor(ctx context.Context, r *redlatch) error {
	began := time.Now()
	if err := r.rdb.Ping(ctx).Err(); err != nil {
		return err
	}
	found := []finding{{"connection", true, fmt.Sprintf("%s answers in %v", a.shown(), time.Since(began).Round(10*time.Microsecond))}}
	found = append(found, version(ctx, r), clocks(ctx, r))
	warnings, err := r.Check(ctx)
	for _, w := range warnings {
		found = append(found, finding{"locks", false, plain(w)})
	}
	if err != nil {
		found = append(found, finding{"locks", false, plain(err)})
	}
	if len(warnings) == 0 && err == nil {
		found = append(found, finding{"locks", true, "permissions, pub/sub and memory settings are as locks need them"})
	}
	found = append(found, finds(ctx, r))
	well := true
	for _, f := range found {
		well = well && f.OK
		if a.json {
			if err := printJSON(a.out, f); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(a.out, "%s  %-10s  %s\n", map[bool]string{true: "ok", false: "!!"}[f.OK], f.What, f.Says)
	}
	if !well {
		return result(exitFailed)
	}
	return nil
}

// version needs the right to INFO, without which it is not known.
func version(ctx context.Context, r *redlatch) finding {
	text, err := r.rdb.Info(ctx, "server").Result()
	if err != nil {
		return finding{"version", true, "not known: " + plain(err)}
	}
	name, number := "Redis", ""
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch key {
		case "redis_version":
			number = value
		case "valkey_version":
			name, number = "Valkey", value
			return finding{"version", true, name + " " + number}
		}
	}
	var major, minor int
	_, _ = fmt.Sscanf(number, "%d.%d", &major, &minor)
	ok := major > 6 || major == 6 && minor >= 2
	return finding{"version", ok, name + " " + number + map[bool]string{true: "", false: ": locks need 6.2 or newer"}[ok]}
}

// clocks compares Redis' clock with this machine's. Leases do not depend on it: they are counted by each clock alone. Who
// compares times of logs does.
func clocks(ctx context.Context, r *redlatch) finding {
	began := time.Now()
	theirs, err := r.rdb.Time(ctx).Result()
	if err != nil {
		return finding{"clock", true, "not known: " + plain(err)}
	}
	took := time.Since(began)
	off := theirs.Sub(began.Add(took / 2)).Round(time.Millisecond)
	return finding{"clock", off.Abs() < time.Second+took, fmt.Sprintf("Redis' clock is %v from this machine's; leases do not depend on it", off)}
}

// finds tries what ls needs.
func finds(ctx context.Context, r *redlatch) finding {
	if _, err := r.Contended(ctx); err != nil {
		return finding{"ls", false, plain(err)}
	}
	for _, err := range r.Locks(ctx, "*") {
		if err != nil {
			return finding{"ls", false, plain(err)}
		}
		break
	}
	return finding{"ls", true, "locks can be listed"}
}
