package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/examples/internal/demo/demotest"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestMain(m *testing.M) { demotest.Main(m, nil) }

// told are the lines that make the point of each case, in their order.
var told = []string{
	`anna +41 +200 OK, after \d{3,}\.\d ms`,
	`"settled by .*, booked with hold count 2"`,
	`bert +41 +200 OK, after \d{2,}\.\d ms`,
	`bert +42 +423 Locked, Retry-After: [123], after \d{3,}\.\d ms`,
	`carl +43 +200 OK`,
	`anna +44 +200 OK`,
	`booked with hold count 2`,
	`anna +\{45\} +400 Bad Request`,
	`anna +45\?panic=1 +no answer`,
	`bert +45 +200 OK`,
	`anna +46\?work=1h +no answer`,
	`bert +46 +200 OK`,
	`carl +ForceUnlock +freed: true`,
	`anna +47\?work=1h +503 Service Unavailable`,
	`"given up: Redis no longer knows the hold"`,
	`anna +48 +503 Service Unavailable, Retry-After: 5`,
	`Done in \d+\.\d s\.`,
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), &out, "", ""); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	demotest.Told(t, out.String(), told...)
}

func TestServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var out bytes.Buffer
	if err := run(t.Context(), &out, "redis://"+server.Addr(), ""); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	demotest.Told(t, out.String(), told...)
	demotest.LeavesNothing(t, server)
}

// TestInterrupted ends the program while a request is served that would take an hour.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ctx, interrupt := context.WithCancelCause(t.Context())
	defer interrupt(nil)
	errCtrlC := errors.New("Ctrl-C")
	out := &demotest.Trigger{Word: "423", Pull: func() { interrupt(errCtrlC) }}
	if err := run(ctx, out, "redis://"+server.Addr(), ""); !errors.Is(err, errCtrlC) {
		t.Errorf("got error %v, want %v\n%s", err, errCtrlC, &out.Buffer)
	}
	demotest.LeavesNothing(t, server)
}

// TestListen serves until it is ended, at the addresses that it prints.
func TestListen(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	lines, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, out, "", "127.0.0.1:0")
		out.Close()
	}()
	printed := make(chan string, 1)
	go func() {
		var text strings.Builder
		buf := make([]byte, 1024)
		for {
			n, err := lines.Read(buf)
			text.Write(buf[:n])
			if strings.Contains(text.String(), "Ctrl-C") || err != nil {
				printed <- text.String()
				_, _ = io.Copy(io.Discard, lines)
				return
			}
		}
	}()
	text := <-printed
	commands := regexp.MustCompile(`curl -i '(http://[^']+)' +(\d{3})?`).FindAllStringSubmatch(text, -1)
	if len(commands) != 4 {
		t.Fatalf("%d commands in:\n%s", len(commands), text)
	}
	client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for _, c := range commands[2:] { // the others take ten seconds
		resp, err := client.Get(c[1])
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Status[:3]; got != c[2] {
			t.Errorf("%s: %s, want %s", c[1], resp.Status, c[2])
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
