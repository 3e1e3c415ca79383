package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/examples/internal/demo/demotest"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestMain(m *testing.M) { demotest.Main(m, roles) }

// few readers are enough for the tests: a thousand are work for seconds under the race detector.
const few = 100

// told are the lines that make the point. How often readers refuse the table that a dead job has
// left is a matter of time.
var told = []string{
	`^100 goroutines in 2 processes`,
	`^Without a lock`,
	`job +rewrote +edition 6, after a wait of`,
	`^With a read-write lock$`,
	`job +rewrote +edition 6, after a wait of`,
	`^With a read-write lock, and a job that is killed`,
	`job +rewrote +edition 2, after a wait of`,
	`job +killed +half of edition 3 is written`,
	`job +started +again`,
	`job +rewrote +edition 3, after a wait of`,
	`job +rewrote +edition 6, after a wait of`,
	`^no lock +[1-9]\d* +[1-9]\d* +-$`,
	`^read-write lock +[1-9]\d* +0 +\d+\.\d %$`,
	`^job killed +[1-9]\d* +\d+ +\d+\.\d %$`,
	`Done in \d+\.\d s\.`,
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), &out, "", few); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	demotest.Told(t, out.String(), told...)
}

func TestServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var out bytes.Buffer
	if err := run(t.Context(), &out, "redis://"+server.Addr(), few); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	demotest.Told(t, out.String(), told...)
	demotest.LeavesNothing(t, server)
}

// TestInterrupted ends the last round while a dead job has the lock and all readers wait.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ctx, interrupt := context.WithCancelCause(t.Context())
	defer interrupt(nil)
	errCtrlC := errors.New("Ctrl-C")
	out := &demotest.Trigger{Word: "killed   ", Pull: func() { interrupt(errCtrlC) }}
	if err := run(ctx, out, "redis://"+server.Addr(), few); !errors.Is(err, errCtrlC) {
		t.Errorf("got error %v, want %v\n%s", err, errCtrlC, &out.Buffer)
	}
	demotest.LeavesNothing(t, server)
}

// A check that finds nothing wrong would prove nothing of the rounds.
func TestCheck(t *testing.T) {
	t.Parallel()
	if !mixed(map[string]string{edition: "2"}) {
		t.Error("an empty table looks whole")
	}
	locked, killed := ways[1], ways[2]
	for _, c := range []struct {
		total total
		want  string // in the error; none is expected if it is empty
	}{
		{total{locked, tally{Whole: 5}}, ""},
		{total{ways[0], tally{Whole: 5, Half: 1}}, ""},
		{total{killed, tally{Whole: 5, Half: 1}}, ""},
		{total{locked, tally{}}, "nobody has read"},
		{total{locked, tally{Whole: 5, Mixed: 1}}, "two editions"},
		{total{locked, tally{Whole: 5, Half: 1}}, "half-written"},
	} {
		err := check([]total{{ways[0], tally{Whole: 1}}, c.total})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got error %v, want %q", c.total, err, c.want)
		}
	}
}
