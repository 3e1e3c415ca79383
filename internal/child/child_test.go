//go:build unix

package child_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/redlatch/redlatch/internal/child"
)

// echo makes this test binary write back each line that it reads.
const echo = "REDLATCH_CHILD_ECHO"

func TestMain(m *testing.M) {
	if os.Getenv(echo) != "" {
		_, _ = io.Copy(os.Stdout, os.Stdin)
		os.Exit(7)
	}
	os.Exit(m.Run())
}

func start(t *testing.T) (c *child.Child, in io.WriteCloser, out *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), echo+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	t.Cleanup(func() { r.Close() })
	cmd.Stdout = w
	c, err = child.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	return c, in, bufio.NewReader(r)
}

// What is written to a child after Stop is answered after Continue, and not before: else
// the answer would be there already when the child is killed instead.
func TestStop(t *testing.T) {
	t.Parallel()
	for _, goesOn := range []bool{true, false} {
		for range 20 {
			c, in, out := start(t)
			say(t, in)
			if _, err := out.ReadString('\n'); err != nil { // it runs
				t.Fatal(err)
			}
			if err := c.Stop(); err != nil {
				t.Fatal(err)
			}
			say(t, in)
			if goesOn {
				if err := c.Continue(); err != nil {
					t.Fatal(err)
				}
				if _, err := out.ReadString('\n'); err != nil {
					t.Errorf("a child that went on: %v", err)
				}
				continue
			}
			c.Kill()
			if line, err := out.ReadString('\n'); err == nil {
				t.Errorf("a stopped child said %q", line)
			}
		}
	}
}

func say(t *testing.T, in io.Writer) {
	t.Helper()
	if _, err := io.WriteString(in, "here?\n"); err != nil {
		t.Fatal(err)
	}
}

func TestEnd(t *testing.T) {
	t.Parallel()
	c, in, _ := start(t)
	select {
	case <-c.Done():
		t.Fatal("it has ended by itself")
	default:
	}
	in.Close()
	var exit *exec.ExitError
	if err := c.Err(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("it exited with %v", err)
	}
	<-c.Done()
	c.Kill() // nothing is left to do
	if err := c.Stop(); err == nil {
		t.Error("a child that has ended was stopped")
	}
}

func TestNoSuchProgram(t *testing.T) {
	t.Parallel()
	if _, err := child.Start(exec.Command("./no such program")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("started with %v", err)
	}
}
