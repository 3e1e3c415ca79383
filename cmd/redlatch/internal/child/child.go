// Package child runs one command as a child process ought to be run: in a process group of its own, with the caller's files
// and terminal, ended with its parent, and waited for.
//
// A Child has one goroutine, which ends with the process. On Unix it stays on one thread: Linux kills the process when
// the thread that has started it ends (Pdeathsig). So a redlatch that is killed leaves no child; what that child has
// started, and other systems than Linux, are out of its reach.
//
// On a terminal the child's group is put into the foreground, so that it can read, and Ctrl-C reaches it. When it stops
// (Ctrl-Z), the program stops too, as the shell expects; when the shell goes on with the program, the child does.
package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// ErrNotFound: there is no such command.
var ErrNotFound = errors.New("command not found")

// Spec is what to run.
type Spec struct {
	Path                  string
	Args                  []string // with the name of the program
	Env                   []string
	Stdin, Stdout, Stderr *os.File
}

// Child is a process that was started.
type Child struct {
	pid  int
	done chan struct{}
	code int // written before done is closed
}

// Find is the path of a command. The error is [ErrNotFound], or why the command cannot be executed.
func Find(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("%s: %w", name, ErrNotFound)
	}
	return "", fmt.Errorf("%s: cannot be executed: %w", name, err)
}

// Start starts a process. The error is that of the system.
func Start(s Spec) (*Child, error) {
	c := &Child{done: make(chan struct{})}
	started := make(chan error)
	go c.run(s, started) // ends with the process; started and done say how far it is
	if err := <-started; err != nil {
		return nil, fmt.Errorf("%s: %w", s.Args[0], err)
	}
	return c, nil
}

// Done is closed when the process has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Code is the exit code of a process that has ended: 128 and the number of the signal if one has ended it.
func (c *Child) Code() int {
	<-c.done
	return c.code
}

// signalCode is the exit code of a process that a signal has ended.
func signalCode(s syscall.Signal) int { return 128 + int(s) }
