package main

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/redlatch/redlatch/internal/leaktest"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestMain(m *testing.M) {
	logging.Disable()
	leaktest.Main(m)
}

// told are the lines that make each part's point, in their order.
var told = []string{
	`anna +Acquire +she has it`,
	`\[#####\] +bert +TryLock +false`,
	`\[xx###\] +server down +number 2`,
	`\[xx###\] +anna +ValidUntil +in \d+\.\d ms; the ctx of her work goes on`,
	`\[xx###\] +bert +TryLock +(false|an error)`,
	`server down +number 3`,
	`anna +ctx ended +after \d`,
	`anna +context.Cause +is ErrLost: true; 2 of 5 valid, 3 needed`,
	`anna +Release +is ErrLost: true`,
	`bert +TryLock +an error: [0-2] of 5 held, 3 needed`,
	`server up +number 3`,
	`\[xx###\] +bert +Acquire +he has it`,
	`Done in \d+\.\d s\.`,
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), &out, ""); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	check(t, out.String())
}

// TestServers also waits for the end of the quarantine, since the servers are new.
func TestServers(t *testing.T) {
	t.Parallel()
	servers, urls := start(t, 5)
	var out bytes.Buffer
	if err := run(t.Context(), &out, strings.Join(urls, ",")); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	check(t, out.String())
	leavesNothing(t, servers)
}

// TestInterrupted ends the scenario while the lock is held and servers are down.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	servers, urls := start(t, 5)
	ctx, interrupt := context.WithCancelCause(t.Context())
	defer interrupt(nil)
	errCtrlC := errors.New("Ctrl-C")
	out := &trigger{word: "ValidUntil", pull: func() { interrupt(errCtrlC) }}
	if err := run(ctx, out, strings.Join(urls, " ")); !errors.Is(err, errCtrlC) {
		t.Errorf("got error %v, want %v\n%s", err, errCtrlC, &out.Buffer)
	}
	leavesNothing(t, servers)
}

func TestTooFew(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	for _, urls := range []string{"redis://localhost:6379", "localhost:1,localhost:2,localhost:3"} {
		if err := run(t.Context(), &out, urls); err == nil || !strings.Contains(err.Error(), "REDIS_URLS") {
			t.Errorf("got error %v, want one that names REDIS_URLS", err)
		}
	}
	if out.Len() > 0 {
		t.Errorf("printed without servers:\n%s", &out)
	}
}

func start(t *testing.T, n int) (servers []*redistest.Server, urls []string) {
	for range n {
		s := redistest.Start(t)
		servers, urls = append(servers, s), append(urls, "redis://"+s.Addr())
	}
	return servers, urls
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

func leavesNothing(t *testing.T, servers []*redistest.Server) {
	t.Helper()
	for _, s := range servers {
		redistest.Eventually(t, 10*time.Second, s.Addr()+" has no key", func() bool {
			return len(s.Do(t, "KEYS", "*").([]any)) == 0
		})
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
