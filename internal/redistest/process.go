package redistest

import (
	"os"
	"os/exec"
	"runtime"
)

// process is a child that is owned by one goroutine from start to end.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the child has been waited for
}

// launch starts cmd. A child started here does not outlive the test process,
// however that ends (see bindToParent).
//
// The kernel counts the thread that forked, not the process, as the parent that
// has to die. The goroutine that starts the child therefore keeps its thread
// until it has also waited for the child.
func launch(cmd *exec.Cmd) (*process, error) {
	bindToParent(cmd)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how a killed server exited tells nothing
		}
	}()
	if err := <-started; err != nil {
		<-p.done
		return nil, err
	}
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// signal sends sig through the process handle, never by number, so that it
// cannot hit a stranger that got the number later.
func (p *process) signal(sig os.Signal) error { return p.cmd.Process.Signal(sig) }

// kill ends the child and waits for it. SIGKILL also ends a stopped process.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails only if the child is gone already
	<-p.done
}
