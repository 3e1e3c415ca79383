// Package demotest is what the tests of the examples have in common.
package demotest

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"github.com/redlatch/redlatch/examples/internal/demo"
	"github.com/redlatch/redlatch/internal/leaktest"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Main makes the test's program fit to be run again as a child with one of the roles, and
// runs the tests, which must leave no goroutine behind.
func Main(m *testing.M, roles map[string]demo.Role) {
	demo.Child(roles)
	logging.Disable() // as demo.Main does
	// Under the race detector a child would sleep for a second before it exits.
	os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
	leaktest.Main(m)
}

// Told looks for the patterns in out, each in a line of its own and in their order, and
// for lines that are too long for a terminal.
func Told(t *testing.T, out string, patterns ...string) {
	t.Helper()
	rest := out
	for _, pattern := range patterns {
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

// LeavesNothing wants the server without keys.
func LeavesNothing(t *testing.T, server *redistest.Server) {
	t.Helper()
	if keys := server.Do(t, "KEYS", "*"); len(keys.([]any)) > 0 {
		t.Errorf("left keys behind: %v", keys)
	}
}

// Trigger keeps what is written, and calls Pull once: at the first write that contains
// Word.
type Trigger struct {
	bytes.Buffer
	Word string
	Pull func()
}

// Write implements io.Writer.
func (w *Trigger) Write(p []byte) (int, error) {
	if w.Pull != nil && bytes.Contains(p, []byte(w.Word)) {
		w.Pull()
		w.Pull = nil
	}
	return w.Buffer.Write(p)
}
