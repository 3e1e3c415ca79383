package child

import (
	"os"
	"syscall"
)

// Shell is the shell of a user without %SHELL%.
const Shell = "cmd"

// Forwarded are the signals that a child is to get. Windows has none but Ctrl-C, which the console sends to the child itself:
// this program only must not end before the child.
var Forwarded = []os.Signal{os.Interrupt}

// Ends reports whether a program is expected to end with the signal.
func Ends(s syscall.Signal) bool { return s == syscall.SIGINT }

// run starts the process and waits for its end.
func (c *Child) run(s Spec, started chan<- error) {
	p, err := os.StartProcess(s.Path, s.Args, &os.ProcAttr{Env: s.Env, Files: []*os.File{s.Stdin, s.Stdout, s.Stderr}})
	if err != nil {
		started <- err
		return
	}
	c.pid = p.Pid
	started <- nil
	defer close(c.done)
	state, err := p.Wait()
	if err != nil {
		c.code = 255
		return
	}
	c.code = state.ExitCode()
}

// Signal does nothing: the console has told the child.
func (c *Child) Signal(os.Signal) {}

// Terminate ends the process: Windows cannot ask a process that has no window to end.
func (c *Child) Terminate() { c.Kill() }

// Kill ends the process. What it has started goes on.
func (c *Child) Kill() {
	if p, err := os.FindProcess(c.pid); err == nil {
		_ = p.Kill()
	}
}
