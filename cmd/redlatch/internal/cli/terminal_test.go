//go:build unix

package cli_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/redlatch/redlatch/internal/redistest"
)

// terminal is a program in a pseudo-terminal.
type terminal struct {
	*command
	pty *os.File
}

// inTerminal starts a program whose terminal is the test's.
func (r *rig) inTerminal(name string, args ...string) *terminal {
	r.t.Helper()
	c := r.command()
	c.Cmd = exec.Command(name, args...)
	c.Env = append(os.Environ(), "REDIS_URL=redis://"+r.Addr(), "REDLATCH_HELD=", "PS1=$ ", "TERM=dumb")
	f, err := pty.Start(c.Cmd)
	must(r.t, err)
	read := make(chan struct{})
	go func() { // ends with the terminal
		defer close(read)
		buffer := make([]byte, 4096)
		for {
			n, err := f.Read(buffer)
			_, _ = c.out.Write(buffer[:n])
			if err != nil {
				return
			}
		}
	}()
	go func() { // ends with the process
		_ = c.Cmd.Wait()
		close(c.ended)
	}()
	r.t.Cleanup(func() {
		_ = c.Process.Kill()
		<-c.ended
		_ = f.Close()
		<-read
	})
	return &terminal{c, f}
}

func (x *terminal) types(text string) {
	x.t.Helper()
	_, err := x.pty.WriteString(text)
	must(x.t, err)
}

// The command reads from the terminal, and Ctrl-C reaches it.
func TestTerminal(t *testing.T) {
	r := start(t)
	x := r.inTerminal(binary, "run", "job", "sh", "-c", "trap 'echo interrupted; exit 7' INT; read line; echo got $line; while :; do sleep 0.01; done")
	x.types("hello\n")
	x.prints("got hello")
	x.types("\x03")
	x.prints("interrupted")
	if code := x.code(); code != 7 {
		t.Errorf("code %d, %q", code, x.out.String())
	}
	r.wantFree("job")
}

// Ctrl-Z stops the command and redlatch, and the shell goes on with both.
func TestTerminalStops(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no shell with job control")
	}
	r := start(t)
	x := r.inTerminal(bash, "--norc", "--noediting", "-i")
	x.types(binary + " run --lease 1m job sh -c 'echo rea''dy; read line; echo g''ot $line'\n")
	x.prints("ready")
	x.types("\x1a")
	x.prints("Stopped")
	x.types("echo she''ll\n")
	x.prints("shell")
	x.types("fg\n")
	redistest.Eventually(t, within, "the command reads again", func() bool {
		x.types("on\n")
		return strings.Contains(x.out.String(), "got on")
	})
	x.types("exit\n")
	x.code()
	r.wantFree("job")
}

// force-unlock asks on a terminal.
func TestTerminalAsks(t *testing.T) {
	r := start(t)
	must(t, r.client.NewLock("job").Lock(t.Context()))
	x := r.inTerminal(binary, "force-unlock", "job")
	x.prints("Free it? [y/N]")
	x.types("n\n")
	if code := x.code(); code != 1 {
		t.Errorf("no: code %d, %q", code, x.out.String())
	}
	x = r.inTerminal(binary, "force-unlock", "job")
	x.prints("Free it? [y/N]")
	x.types("y\n")
	x.prints("was taken from")
	if code := x.code(); code != 0 {
		t.Errorf("yes: code %d, %q", code, x.out.String())
	}
	r.wantFree("job")
}
