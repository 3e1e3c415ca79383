package main

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/leaktest"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// told are the lines that make each section's point, in their order.
var told = []string{
	`settle: Lock .* hold count in Redis: 1`,
	`notify: Lock .* hold count in Redis: 3`,
	`HGETALL .*:\d+ = 3 `,
	`settle: Unlock .* hold count in Redis: 0`,
	`anna +TryLock 500ms +got it: false, error: <nil>, after \d{3,}\.\d ms`,
	`bert +Release +bert lets go`,
	`anna +TryLock 5s +got it: true, \d+\.\d ms after bert's Release began`,
	`anna +Stats +WakeUps.Message: 1,`,
	`carl +TTL +held for 3\.\d s, expires in +\d+ ms`,
	`carl +Release +renewed [1-9]\d* times`,
	`bert +ForceUnlock +freed: true`,
	`carl +context.Cause +is ErrLost: true; Redis no longer knows the hold`,
	`carl +Release +is ErrLost: true`,
	`Done in \d+\.\d s\.`,
}

func TestTourOnMiniredis(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), &out, ""); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	check(t, out.String())
}

func TestTourOnServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var out bytes.Buffer
	if err := run(t.Context(), &out, "redis://"+server.Addr()); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	check(t, out.String())
	leavesNothing(t, server)
}

// TestInterrupted ends the tour while a lock is held.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ctx, interrupt := context.WithCancelCause(t.Context())
	defer interrupt(nil)
	errCtrlC := errors.New("Ctrl-C")
	out := &trigger{word: "TryLock 5s", pull: func() { interrupt(errCtrlC) }}
	began := time.Now()
	if err := run(ctx, out, "redis://"+server.Addr()); !errors.Is(err, errCtrlC) {
		t.Errorf("got error %v, want %v\n%s", err, errCtrlC, &out.Buffer)
	}
	if strings.Contains(out.String(), "4. Renewal") {
		t.Errorf("went on for %v after the interruption:\n%s", time.Since(began), &out.Buffer)
	}
	leavesNothing(t, server)
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), &out, "localhost:6379"); err == nil || !strings.Contains(err.Error(), "REDIS_URL") {
		t.Errorf("got error %v, want one that names REDIS_URL", err)
	}
	if out.Len() > 0 {
		t.Errorf("printed without a server:\n%s", &out)
	}
}

func check(t *testing.T, out string) {
	t.Helper()
	rest := out
	for _, pattern := range told {
		at := regexp.MustCompile(`(?m)` + pattern).FindStringIndex(rest)
		if at == nil {
			t.Errorf("no line %q where it belongs, in:\n%s", pattern, out)
			return
		}
		rest = rest[at[1]:]
	}
	for line := range strings.Lines(out) {
		if len(line) > 100 {
			t.Errorf("a line of %d characters is too long for a terminal: %q", len(line), line)
		}
	}
}

func leavesNothing(t *testing.T, server *redistest.Server) {
	t.Helper()
	if keys := server.Do(t, "KEYS", "*"); len(keys.([]any)) > 0 {
		t.Errorf("left keys behind: %v", keys)
	}
}

// trigger calls pull at the first write that contains word.
type trigger struct {
	bytes.Buffer
	word string
	pull func()
}

func (w *trigger) Write(p []byte) (int, error) {
	if w.pull != nil && bytes.Contains(p, []byte(w.word)) {
		w.pull()
		w.pull = nil
	}
	return w.Buffer.Write(p)
}
