package demo_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/examples/internal/demo"
	"github.com/redlatch/redlatch/examples/internal/demo/demotest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

func TestMain(m *testing.M) {
	demotest.Main(m, map[string]demo.Role{"echo": echo, "fail": fail})
}

// echo answers with what it gets until its parent ends it, and then with a last word.
func echo(ctx context.Context, parent *demo.Parent) error {
	for {
		var word string
		if err := parent.Receive(ctx, &word); err != nil {
			return parent.Send("end")
		}
		if err := parent.Send(word); err != nil {
			return err
		}
	}
}

func fail(context.Context, *demo.Parent) error { return errors.New("no paper") }

func start(t *testing.T, role string) *demo.Process {
	t.Helper()
	p, err := demo.Start(role, "job")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func receive(t *testing.T, p *demo.Process, want string) {
	t.Helper()
	var got string
	if err := p.Receive(t.Context(), &got); err != nil || got != want {
		t.Fatalf("received %q, %v, want %q", got, err, want)
	}
}

func TestProcess(t *testing.T) {
	t.Parallel()
	p := start(t, "echo")
	receive(t, p, "job")
	if err := p.Send("again"); err != nil {
		t.Fatal(err)
	}
	receive(t, p, "again")
	ended, end := context.WithCancel(t.Context())
	end()
	if err := p.Receive(ended, new(string)); !errors.Is(err, context.Canceled) {
		t.Errorf("Receive with an ended ctx: %v", err)
	}
	// What the child says at its end nobody receives, and it ends all the same.
	if err := p.End(); err != nil {
		t.Error(err)
	}
	if err := p.Receive(t.Context(), new(string)); err != io.EOF {
		t.Errorf("Receive after End: %v, want EOF", err)
	}
}

func TestProcessFails(t *testing.T) {
	t.Parallel()
	for range 20 {
		p, err := demo.Start("fail", "job")
		if err == nil { // the job was there before the end
			t.Cleanup(p.Kill)
			if err := p.Receive(t.Context(), new(string)); err != io.EOF {
				t.Errorf("Receive: %v, want EOF", err)
			}
			err = p.End()
		}
		if err == nil || !strings.Contains(err.Error(), "no paper") {
			t.Errorf("%v, want what the child complained of", err)
		}
	}
}

// A stopped child answers nothing, then all; and it can be killed.
func TestProcessPause(t *testing.T) {
	t.Parallel()
	if !demo.CanPause {
		t.Skip("no SIGSTOP here")
	}
	p := start(t, "echo")
	receive(t, p, "job")
	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := p.Continue(); err != nil {
		t.Fatal(err)
	}
	if err := p.Send("awake"); err != nil {
		t.Fatal(err)
	}
	receive(t, p, "awake")
	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	p.Kill()
	if !p.Gone(t.Context()) {
		t.Error("it lives on")
	}
}

// Leave removes what would stay: the counter has no TTL.
func TestLeave(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, url := range []string{"", "redis://" + server.Addr()} {
		r, err := demo.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		if own := strings.Contains(r.String(), "miniredis"); own != (url == "") {
			t.Errorf("with URL %q: %s", url, r)
		}
		client, err := reentrant.New(r.Client, reentrant.WithPrefix("p:"))
		if err != nil {
			t.Fatal(err)
		}
		hold, err := client.NewLock("x", reentrant.WithFencing()).Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := hold.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := r.Leave(t.Context(), client, "p:x"); err != nil {
			t.Error(err)
		}
		if n := r.DBSize(t.Context()).Val(); n != 0 {
			t.Errorf("with URL %q: %d keys are left", url, n)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	demotest.LeavesNothing(t, server)
}

func TestOpenFails(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond) // go-redis would try for seconds
	defer cancel()
	for url, want := range map[string]string{"localhost:6379": "REDIS_URL", "redis://127.0.0.1:1": "no answer"} {
		if _, err := demo.Open(ctx, url); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
}

// Only a terminal gets the status; to others it would be noise.
func TestStatus(t *testing.T) {
	t.Parallel()
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	log := demo.NewLog(file)
	log.Status("half of it")
	log.Line("anna", "Lock", "after %s", demo.MS(1500*time.Microsecond))
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	demotest.Told(t, string(text), `^ +0\.\d{3} s  anna     Lock           after 1\.5 ms$`)
	if strings.Contains(string(text), "half") {
		t.Errorf("a file got the status: %q", text)
	}
}
