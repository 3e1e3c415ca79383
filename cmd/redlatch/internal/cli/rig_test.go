package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// within bounds what a busy machine needs.
const within = 20 * time.Second

// binary is the program, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "redlatch")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "redlatch")
	if out, err := exec.Command("go", "build", "-o", binary, "github.com/redlatch/redlatch/cmd/redlatch").CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%v\n%s", err, out))
	}
	return m.Run()
}

// rig is a server, and a Client that looks at it.
type rig struct {
	*redistest.Server
	t      *testing.T
	client *reentrant.Client
}

func start(t *testing.T) *rig {
	t.Helper()
	t.Parallel()
	s := redistest.Start(t)
	c, err := reentrant.New(s.Client(t))
	must(t, err)
	return &rig{Server: s, t: t, client: c}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// command is a run of the program.
type command struct {
	*exec.Cmd
	t        *testing.T
	out, err output
	ended    chan struct{}
}

// output can be read while it is written.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// command prepares a run.
func (r *rig) command(args ...string) *command {
	c := &command{Cmd: exec.Command(binary, args...), t: r.t, ended: make(chan struct{})}
	c.Env = append(os.Environ(), "REDIS_URL=redis://"+r.Addr(), "REDLATCH_HELD=")
	c.Stdout, c.Stderr = &c.out, &c.err
	return c
}

// begin starts a run, and ends what is left of it with the test.
func (c *command) begin() *command {
	c.t.Helper()
	must(c.t, c.Start())
	go func() { // ends with the process
		_ = c.Cmd.Wait()
		close(c.ended)
	}()
	c.t.Cleanup(func() {
		_ = c.Process.Kill()
		<-c.ended
	})
	return c
}

// code waits for the exit code.
func (c *command) code() int {
	c.t.Helper()
	select {
	case <-c.ended:
	case <-time.After(within):
		c.t.Fatalf("%v has not ended; stdout %q, stderr %q", c.Args, c.out.String(), c.err.String())
	}
	return c.ProcessState.ExitCode()
}

// prints waits until the run has printed a text.
func (c *command) prints(text string) {
	c.t.Helper()
	redistest.Eventually(c.t, within, fmt.Sprintf("%v prints %q", c.Args, text), func() bool {
		return strings.Contains(c.out.String(), text)
	})
}

// do runs the program to its end.
func (r *rig) do(args ...string) (code int, stdout, stderr string) {
	r.t.Helper()
	c := r.command(args...).begin()
	code = c.code()
	return code, c.out.String(), c.err.String()
}

// want runs the program, and checks the code, what it prints, and words of its errors.
func (r *rig) want(code int, stdout, stderr string, args ...string) {
	r.t.Helper()
	got, out, err := r.do(args...)
	if got != code || !strings.Contains(out, stdout) || stdout == "" && out != "" || !strings.Contains(err, stderr) || stderr == "" && err != "" {
		r.t.Errorf("%v: code %d, stdout %q, stderr %q; want code %d, %q, %q", args, got, out, err, code, stdout, stderr)
	}
}

// gone waits until no process has that id.
func gone(t *testing.T, pid int) {
	t.Helper()
	redistest.Eventually(t, within, fmt.Sprint("process ", pid, " has ended"), func() bool {
		return syscall.Kill(pid, 0) != nil
	})
}

func (r *rig) wantFree(name string) {
	r.t.Helper()
	info, err := r.client.Inspect(r.t.Context(), name)
	must(r.t, err)
	if info.Held {
		r.t.Errorf("%v", info)
	}
}
