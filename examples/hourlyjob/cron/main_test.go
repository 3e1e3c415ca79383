package main

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/redlatch/redlatch/examples/internal/demo/demotest"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestMain(m *testing.M) { demotest.Main(m, nil) }

// Each of three hours was done once, which the program checks, and by the same tick found
// done.
var told = []string{
	`node-\d +ran +the job of \d\d:00`,
	`node-\d +done +the job of \d\d:00`,
	`node-\d +ran +the job of \d\d:00`,
	`node-\d +ran +the job of \d\d:00`,
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

func TestInterrupted(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ctx, interrupt := context.WithCancelCause(t.Context())
	defer interrupt(nil)
	errCtrlC := errors.New("Ctrl-C")
	out := &demotest.Trigger{Word: "ran  ", Pull: func() { interrupt(errCtrlC) }}
	if err := run(ctx, out, "redis://"+server.Addr()); !errors.Is(err, errCtrlC) {
		t.Errorf("got error %v, want %v\n%s", err, errCtrlC, &out.Buffer)
	}
	demotest.LeavesNothing(t, server)
}
