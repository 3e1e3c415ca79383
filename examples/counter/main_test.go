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

// told are the customers of both scenes, in the order in which they are served.
var told = []string{
	`^Nine customers`,
	`door-1 +served +customer 1$`,
	`door-2 +served +customer 2$`,
	`door-3 +served +customer 3$`,
	`door-1 +served +customer 4$`,
	`door-2 +served +customer 5$`,
	`door-3 +served +customer 9$`,
	`^door-2 is killed`,
	`door-1 +served +customer 1$`,
	`door-2 +served +customer 2$`,
	`door-2 +killed`,
	`door-3 +served +customer 3, \d+\.\d ms after the kill$`,
	`door-1 +served +customer 4$`,
	`door-3 +served +customer 6$`,
	`door-1 +served +customer 7$`,
	`door-3 +served +customer 9$`,
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

// TestInterrupted ends the program while a dead door has the counter, and others are in line.
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
