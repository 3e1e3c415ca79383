package reentrant_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// notebook is a slog.Handler that keeps what is logged, at its level and above.
type notebook struct {
	level slog.Level

	mu      *sync.Mutex
	records *[]slog.Record
}

func newNotebook(level slog.Level) *notebook {
	return &notebook{level, new(sync.Mutex), new([]slog.Record)}
}

func (n *notebook) Enabled(_ context.Context, l slog.Level) bool { return l >= n.level }
func (n *notebook) WithAttrs([]slog.Attr) slog.Handler           { return n }
func (n *notebook) WithGroup(string) slog.Handler                { return n }

func (n *notebook) Handle(_ context.Context, r slog.Record) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	*n.records = append(*n.records, r)
	return nil
}

// take returns "LEVEL message" of each record since the last call, and the last one.
func (n *notebook) take() (lines []string, last slog.Record) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range *n.records {
		lines = append(lines, fmt.Sprint(r.Level, " ", r.Message))
		last = r
	}
	*n.records = nil
	return lines, last
}

func attrs(r slog.Record) map[string]any {
	m := make(map[string]any)
	r.Attrs(func(a slog.Attr) bool {
		m[a.Key] = a.Value.Any()
		return true
	})
	return m
}

func TestTimeLogRecords(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		n := newNotebook(slog.LevelDebug)
		c := v.client(reentrant.WithLogger(slog.New(n)))
		l := c.NewLock("job")
		ctx := reentrant.WithOwner(v.ctx, "order 7")
		owner := c.ID() + ":order 7"
		want := func(lines ...string) map[string]any {
			t.Helper()
			got, last := n.take()
			if !slices.Equal(got, lines) {
				t.Fatalf("logged %q, want %q", got, lines)
			}
			return attrs(last)
		}

		must(t, l.Lock(ctx))
		if a := want("DEBUG redlatch: acquired"); a["lock"] != "job" || a["owner"] != owner {
			t.Fatalf("attributes %v", a)
		}
		must(t, l.Lock(ctx))
		if a := want("DEBUG redlatch: re-entered"); a["count"] != int64(2) {
			t.Fatalf("attributes %v", a)
		}
		must(t, l.Unlock(ctx))
		v.pass(lease / 3)
		want("DEBUG redlatch: renewed")

		v.refuseAll(loading)
		v.pass(lease / 3)
		if a := want("WARN redlatch: renewal failed"); a["locks"] != int64(1) || fmt.Sprint(a["error"]) != loading {
			t.Fatalf("attributes %v", a)
		}
		v.refuseAll("")
		v.pass(lease / 6)
		want("DEBUG redlatch: renewed")

		waiter := begin(func() error { return l.Lock(reentrant.WithOwner(v.ctx, "order 8")) })
		v.pass(time.Millisecond)
		if a := want("DEBUG redlatch: waiting"); a["holder"] != owner {
			t.Fatalf("attributes %v", a)
		}
		must(t, l.Unlock(ctx))
		must(t, waiter.wait())
		v.pass(0)
		if a := want("DEBUG redlatch: handed over", "DEBUG redlatch: acquired"); a["waited"] != time.Millisecond {
			t.Fatalf("attributes %v", a)
		}
		v.mini.FlushAll()
		v.pass(lease / 3)
		if a := want("ERROR redlatch: lost"); a["lock"] != "job" || a["owner"] != c.ID()+":order 8" || a["held"] == nil || a["error"] == nil {
			t.Fatalf("attributes %v", a)
		}
	})
}

// What runs well is not worth a line at the default level: a lock is taken a
// thousand times a second.
func TestTimeLogIsQuietByDefault(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		n := newNotebook(slog.LevelInfo)
		l := v.client(reentrant.WithLogger(slog.New(n))).NewLock("job")
		must(t, l.Lock(v.ctx))
		v.pass(10 * lease)
		must(t, l.Unlock(v.ctx))
		if lines, _ := n.take(); len(lines) != 0 {
			t.Fatalf("logged %q", lines)
		}
	})
}
