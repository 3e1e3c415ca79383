package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/examples/internal/demo"
	"github.com/redlatch/redlatch/examples/internal/demo/demotest"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestMain(m *testing.M) { demotest.Main(m, roles) }

// told are the lines that make each part's point, in their order. The last part is
// pausedPart.
var told = []string{
	`anna +LockLease +has it after \d+\.\d ms; at work: anna$`,
	`bert +LockLease +has it after \d{3,}\.\d ms; at work: anna and bert$`,
	`anna +Unlock +is ErrLost`,
	`both were at work for [1-9]\d*\.\d ms`,
	`anna +Lock +has it after \d+\.\d ms; at work: anna$`,
	`bert +Lock +has it after \d{4,}\.\d ms; at work: bert$`,
	`both were at work for 0\.0 ms; anna's lease was renewed [1-9]\d* times`,
}

var pausedPart = []string{
	`anna +Acquire +has it, with token \d+`,
	`bert +Acquire +has it after \d+\.\d ms, with token \d+`,
	`bert +writes +"paid, by bert"`,
	`anna +\w+.* +goes on and writes "cancelled, by anna"$`,
	`store +without fence +takes it: the order is now "cancelled, by anna"`,
	`store +with fence +refused: token \d+ is older than \d+$`,
	`the order is still "paid, by bert"`,
	`anna +context.Cause +is ErrLost: true; the lease ended`,
	`Done in \d+\.\d s\.`,
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), &out, ""); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	demotest.Told(t, out.String(), append(told, pausedPart...)...)
	if signal := strings.Contains(out.String(), "SIGSTOP"); signal != demo.CanPause {
		t.Errorf("says SIGSTOP: %v\n%s", signal, &out)
	}
}

func TestServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var out bytes.Buffer
	if err := run(t.Context(), &out, "redis://"+server.Addr()); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	demotest.Told(t, out.String(), append(told, pausedPart...)...)
	demotest.LeavesNothing(t, server)
}

// TestSimulated plays part 3 as it is played where no process can be stopped.
func TestSimulated(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var out bytes.Buffer
	if err := play(t.Context(), &out, "redis://"+server.Addr(), (*scenario).pausedInside); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	demotest.Told(t, out.String(), append([]string{`^3\. .*simulated`}, pausedPart...)...)
	demotest.LeavesNothing(t, server)
}

// TestInterrupted ends the program while anna is stopped.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for _, part := range []func(*scenario, context.Context) error{(*scenario).paused, (*scenario).pausedInside} {
		server := redistest.Start(t)
		ctx, interrupt := context.WithCancelCause(t.Context())
		defer interrupt(nil)
		errCtrlC := errors.New("Ctrl-C")
		out := &demotest.Trigger{Word: "stands still", Pull: func() { interrupt(errCtrlC) }}
		if err := play(ctx, out, "redis://"+server.Addr(), part); !errors.Is(err, errCtrlC) {
			t.Errorf("got error %v, want %v\n%s", err, errCtrlC, &out.Buffer)
		}
		demotest.LeavesNothing(t, server)
	}
}

func TestStore(t *testing.T) {
	t.Parallel()
	careful, careless := &memory{}, &memory{unfenced: true}
	for _, w := range []struct {
		state string
		token int64
		stale bool
	}{{"new", 3, false}, {"old", 2, true}, {"again", 3, false}, {"newer", 7, false}, {"new once more", 3, true}} {
		var stale *StaleError
		before := careful.state("42")
		err := careful.Write(t.Context(), "42", w.state, w.token)
		if errors.As(err, &stale) != w.stale {
			t.Errorf("token %d: %v", w.token, err)
		}
		if got := careful.state("42"); w.stale && got != before || !w.stale && got != w.state {
			t.Errorf("token %d: the state is %q", w.token, got)
		}
		if err := careless.Write(t.Context(), "42", w.state, w.token); err != nil || careless.state("42") != w.state {
			t.Errorf("token %d, not looked at: %v", w.token, err)
		}
	}
}
