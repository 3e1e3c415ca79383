package main

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/redlatch/redlatch/examples/internal/demo/demotest"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestMain(m *testing.M) { demotest.Main(m, roles) }

// told are the lines that make the point of each hour, in their order. Which node does
// what is not fixed, nor who of two is heard first. That the outcomes are those that
// should be the program checks itself.
var told = []string{
	`^12:00 `,
	`node-\d +works +attempt 1 of 2`,
	`node-\d +done`,
	`^13:00 `,
	`node-\d +works +attempt 1 of 2`,
	`node-\d +done`,
	`^14:00 `,
	`node-\d +killed +in mid-run`,
	`node-\d +works +attempt 2 of 2, \d+\.\d ms after the kill`,
	`node-\d +started +again`,
	`^15:00 `,
	`exhausted`,
	`^12:00 +1 +yes +2h0m0s`,
	`^13:00 +2 +yes`,
	`^14:00 +2 +yes`,
	`^15:00 +2 +no +2h0m0s`,
	`Done in \d+\.\d s\.`,
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), &out, ""); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	demotest.Told(t, out.String(), told...)
}

func TestServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var out bytes.Buffer
	if err := run(t.Context(), &out, "redis://"+server.Addr()); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	demotest.Told(t, out.String(), told...)
	demotest.LeavesNothing(t, server)
}

// TestInterrupted ends the day while a dead node's lock is held and the others wait for it.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ctx, interrupt := context.WithCancelCause(t.Context())
	defer interrupt(nil)
	errCtrlC := errors.New("Ctrl-C")
	out := &demotest.Trigger{Word: "killed  ", Pull: func() { interrupt(errCtrlC) }}
	if err := run(ctx, out, "redis://"+server.Addr()); !errors.Is(err, errCtrlC) {
		t.Errorf("got error %v, want %v\n%s", err, errCtrlC, &out.Buffer)
	}
	demotest.LeavesNothing(t, server)
}
