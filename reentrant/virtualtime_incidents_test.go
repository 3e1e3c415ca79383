package reentrant_test

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// byDefault keeps what is logged to slog.Default while the test runs.
func byDefault(t *testing.T) *notebook {
	n, before := newNotebook(slog.LevelDebug), slog.Default()
	slog.SetDefault(slog.New(n))
	t.Cleanup(func() { slog.SetDefault(before) })
	return n
}

// A program that says nothing about logs is told of a loss, and of what comes before one, and of nothing else.
func TestTimeIncidentsAreLoggedByDefault(t *testing.T) {
	for name, opts := range map[string][]reentrant.Option{
		"nothing": nil,
		"events":  {reentrant.WithEvents(reentrant.Events{Acquired: func(reentrant.Event) {}})},
	} {
		n := byDefault(t)
		inVirtualTime(t, func(t *testing.T, v *virtual) {
			c := v.client(opts...)
			l := c.NewLock("job")
			ctx := reentrant.WithOwner(v.ctx, "me")
			must(t, l.Lock(ctx))
			must(t, l.Lock(ctx))
			must(t, l.Unlock(ctx))
			v.pass(lease)
			if lines, _ := n.take(); lines != nil {
				t.Errorf("%s: logged %q", name, lines)
			}
			v.refuseAll(loading)
			v.pass(2 * lease)
			lines, last := n.take()
			if !slices.Equal(lines, []string{"WARN redlatch: renewal failed", "ERROR redlatch: lost"}) {
				t.Errorf("%s: logged %q", name, lines)
			}
			if a := attrs(last); a["lock"] != "job" || a["owner"] != c.ID()+":me" || a["error"] == nil {
				t.Errorf("%s: attributes %v", name, a)
			}
			v.refuseAll("")
			wants(t, l.Unlock(ctx), reentrant.ErrLost)
		})
	}
}

// Who has said where records go, and be it nowhere, finds none elsewhere.
func TestTimeIncidentsGoToTheLoggerGiven(t *testing.T) {
	n, given := byDefault(t), newNotebook(slog.LevelInfo)
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		for _, logger := range []*slog.Logger{nil, slog.New(given)} {
			l := v.client(reentrant.WithLogger(logger)).NewLock("job")
			must(t, l.Lock(v.ctx))
			v.mini.FlushAll()
			v.pass(lease)
			wants(t, l.Unlock(v.ctx), reentrant.ErrLost)
		}
		if lines, _ := n.take(); lines != nil {
			t.Errorf("logged %q", lines)
		}
		if lines, _ := given.take(); !slices.Equal(lines, []string{"ERROR redlatch: lost"}) {
			t.Errorf("the logger has %q", lines)
		}
	})
}

// Thousands of locks that are lost together, and renewals that fail for hours, are some lines.
func TestTimeIncidentsAreRationed(t *testing.T) {
	n := byDefault(t)
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		const locks = 300
		c := v.client(reentrant.WithLease(3 * time.Minute))
		ctx := reentrant.WithOwner(v.ctx, "me")
		for i := range locks {
			must(t, c.NewLock(fmt.Sprint(i)).Lock(ctx))
		}
		v.mini.FlushAll()
		v.pass(90 * time.Second)
		if lines, _ := n.take(); len(lines) != 10 {
			t.Errorf("%d lines for %d losses", len(lines), locks)
		}
		must(t, c.NewLock("late").Lock(ctx))
		v.pass(time.Minute)
		v.mini.FlushAll()
		v.pass(2 * time.Minute)
		lines, last := n.take()
		if a := attrs(last); len(lines) != 1 || a["unlogged"] != int64(locks-10) {
			t.Errorf("logged %q, attributes %v", lines, a)
		}
		if c.Stats().Losses != locks+1 {
			t.Errorf("stats %+v", c.Stats())
		}
		must(t, c.NewLock("outage").Lock(ctx))
		v.refuseAll(loading)
		v.pass(150 * time.Second) // renewal fails from the end of the first minute, again and again
		lines, _ = n.take()
		if !slices.Equal(lines, []string{"WARN redlatch: renewal failed", "WARN redlatch: renewal failed"}) {
			t.Errorf("logged %q", lines)
		}
		v.refuseAll("")
		v.pass(time.Second)
	})
}
