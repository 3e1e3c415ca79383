package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
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

// TestRung runs the program for one rung, on a server, and draws it.
func TestRung(t *testing.T) {
	t.Parallel()
	server, dir := redistest.Start(t), t.TempDir()
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-rung", "5", "-svg", dir}, &out, "redis://"+server.Addr()); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	rest := out.String()
	for _, pattern := range []string{
		`on the server of REDIS_URL`,
		`5\. A lock that does not know its holder`,
		`has by now: a goroutine that renews`,
		`home-made`,
		`settle: lock; go renew\(\)`,
		`\d+ ms  settle +SET NX PX \d+ +OK`,
		`\d+ ms  book +SET NX PX \d+ +nil, asked \d+ times, until \d+ ms`,
		`\d+ ms  book +gives up`,
		`settle +\| *=+`,
		`redis +\|\.*s+`,
		`FAILS: deadlocks itself`,
		`Redlatch`,
		`\d+ ms  book +Lock +hold count 2`,
		`book +\| +=+`,
		`holds\. book was inside \d`,
		`drawn: .*5-call-chain\.svg`,
	} {
		at := regexp.MustCompile(`(?m)` + pattern).FindStringIndex(rest)
		if at == nil {
			t.Fatalf("no line %q where it belongs, in:\n%s", pattern, &out)
		}
		rest = rest[at[1]:]
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("colour, and no terminal")
	}
	if strings.Contains(out.String(), "4. A fixed lease") {
		t.Error("another rung than the one that was asked for")
	}
	if _, err := os.Stat(filepath.Join(dir, rung5.picture())); err != nil {
		t.Error(err)
	}
	leavesNothing(t, server)
}

// TestInterrupted ends the program while a lock is held.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ctx, interrupt := context.WithCancelCause(t.Context())
	defer interrupt(nil)
	errCtrlC := errors.New("Ctrl-C")
	out := &trigger{word: "4. A fixed lease", pull: func() {
		time.AfterFunc(lease/2, func() { interrupt(errCtrlC) })
	}}
	if err := run(ctx, []string{"-rung", "4"}, out, "redis://"+server.Addr()); !errors.Is(err, errCtrlC) {
		t.Errorf("got error %v, want %v\n%s", err, errCtrlC, &out.Buffer)
	}
	leavesNothing(t, server)
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		url  string
		want error
		says string
	}{
		{args: []string{"-rung", "8"}, want: errUsage, says: "1 to 7"},
		{args: []string{"-rung", "x"}, want: errUsage},
		{args: []string{"more"}, want: errUsage},
		{args: []string{"-h"}, want: flag.ErrHelp},
		{url: "localhost:6379", says: "REDIS_URL"},
	} {
		err := run(t.Context(), test.args, &bytes.Buffer{}, test.url)
		if err == nil || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%q with REDIS_URL=%q: got error %v, want %v that says %q", test.args, test.url, err, test.want, test.says)
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
