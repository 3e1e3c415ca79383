package child

import (
	"os"
	"os/exec"
	"runtime"
)

// Child is a process that [Start] has started. Its methods may be called from any
// goroutine.
type Child struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // guarded by done
}

// Start starts cmd. On Linux the kernel kills it when this process dies, however that
// happens; elsewhere it can outlive a process that is killed.
//
// The kernel counts the thread that forked, not its process, as the parent that has to
// die. The goroutine that starts the child therefore keeps its thread until it has also
// waited for it.
func Start(cmd *exec.Cmd) (*Child, error) {
	bindToParent(cmd)
	c := &Child{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(c.done)
		err := cmd.Start()
		started <- err
		if err == nil {
			c.err = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		<-c.done
		return nil, err
	}
	return c, nil
}

// PID is the child's process ID.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Done is closed when the child has ended and been waited for.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err is how the child ended, as [exec.Cmd.Wait] has it. It waits for the end.
func (c *Child) Err() error {
	<-c.done
	return c.err
}

// Kill ends the child at once, also a stopped one, and waits for its end. A child that
// has ended already is no error.
func (c *Child) Kill() {
	_ = c.cmd.Process.Kill() // fails only if it has ended
	<-c.done
}

func (c *Child) signal(sig os.Signal) error { return c.cmd.Process.Signal(sig) }
