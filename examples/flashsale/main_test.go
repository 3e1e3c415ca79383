package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/examples/internal/demo"
	"github.com/redlatch/redlatch/examples/internal/demo/demotest"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestMain(m *testing.M) { demotest.Main(m, roles) }

// small is a short sale. For the mutexes to do no harm one process would have to sell
// everything, in a third of a second, before any other has begun.
var small = config{Items: 30, Users: 60, Processes: 3, Workers: 3, Payment: 10 * time.Millisecond}

// told are the figures that the example is there to show.
var told = []string{
	`no lock +\d+ +[1-9]\d* +\d+ +\d+`,
	`a mutex each +\d+ +[1-9]\d* +\d+ +\d+`,
	`Redlatch +30 +0 +0 +\d+ +\d+\.\d ms +\d+\.\d ms`,
	`no lock +wrong: \d+ orders for 30 items`,
	`a mutex each +wrong: \d+ orders for 30 items`,
	`Redlatch +right: 30 orders for 30 items, one a user; the lock was re-entered [1-9]\d+ times`,
	`Done in \d+\.\d s\.`,
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), &out, "", small); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	demotest.Told(t, out.String(), told...)
}

func TestServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var out bytes.Buffer
	if err := run(t.Context(), &out, "redis://"+server.Addr(), small); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	demotest.Told(t, out.String(), told...)
	demotest.LeavesNothing(t, server)
}

// TestInterrupted ends the last sale, the one with Redlatch, while it goes on.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ctx, interrupt := context.WithCancelCause(t.Context())
	errCtrlC := errors.New("Ctrl-C")
	rdb, err := demo.Open(ctx, "redis://"+server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer rdb.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer interrupt(errCtrlC)
		redistest.Eventually(t, 20*time.Second, "an order is written", func() bool {
			found, _ := rdb.Keys(t.Context(), "*:orders").Result()
			return len(found) > 0
		})
	}()
	var out bytes.Buffer
	_, err = hold(ctx, rdb, demo.NewLog(&out), small, "Redlatch")
	<-done
	if !errors.Is(err, errCtrlC) {
		t.Errorf("got error %v, want %v", err, errCtrlC)
	}
	demotest.LeavesNothing(t, server)
}

// A sale of fewer users than items, in one process: then the mutex is right as well.
func TestOneProcess(t *testing.T) {
	t.Parallel()
	rdb, err := demo.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer rdb.Close()
	c := config{Items: 30, Users: 10, Processes: 1, Workers: 4}
	for _, way := range ways[1:] {
		r, err := hold(t.Context(), rdb, demo.NewLog(&bytes.Buffer{}), c, way)
		if err = errors.Join(err, r.check(c)); err != nil {
			t.Error(err)
		}
		if want := int64(2 * 10); r.Nested != want || len(r.Waits) != 20 {
			t.Errorf("%s: re-entered %d times, %d waits; want %d, and one for each of 20 clicks", way, r.Nested, len(r.Waits), want)
		}
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	var c config
	f := flag.NewFlagSet("", flag.ContinueOnError)
	c.flags(f)
	if err := errors.Join(f.Parse([]string{"-items", "7"}), c.check()); err != nil || c.Items != 7 || c.Processes < 2 {
		t.Errorf("%v: %+v", err, c)
	}
	c.Workers = 0
	if err := run(t.Context(), &bytes.Buffer{}, "", c); err == nil || !strings.Contains(err.Error(), "flags") {
		t.Errorf("got error %v, want one that names the flags", err)
	}
}
