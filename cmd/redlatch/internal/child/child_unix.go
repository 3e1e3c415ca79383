//go:build unix

package child

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Shell is the shell of a user without $SHELL.
const Shell = "/bin/sh"

// Forwarded are the signals that a child is to get.
var Forwarded = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH,
}

// Ends reports whether a program is expected to end with the signal.
func Ends(s syscall.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGTERM || s == syscall.SIGHUP || s == syscall.SIGQUIT
}

// run starts the process and waits for its end.
func (c *Child) run(s Spec, started chan<- error) {
	runtime.LockOSThread() // Pdeathsig
	defer runtime.UnlockOSThread()
	t := terminalOf(s.Stdin)
	attr := &syscall.SysProcAttr{Setpgid: true}
	endWithParent(attr)
	if t != nil {
		attr.Foreground, attr.Ctty = true, t.fd
	}
	files := []uintptr{s.Stdin.Fd(), s.Stdout.Fd(), s.Stderr.Fd()}
	pid, _, err := syscall.StartProcess(s.Path, s.Args, &syscall.ProcAttr{Env: s.Env, Files: files, Sys: attr})
	if err != nil {
		started <- err
		return
	}
	c.pid = pid
	started <- nil
	defer close(c.done)
	c.code = c.wait(t)
}

// wait waits for the end of the process, and stops the program while the process is stopped.
func (c *Child) wait(t *terminal) int {
	for {
		var status unix.WaitStatus
		switch _, err := unix.Wait4(c.pid, &status, unix.WUNTRACED, nil); {
		case err == unix.EINTR:
		case err != nil:
			return 255 // somebody else has waited for it
		case status.Stopped():
			if t != nil {
				t.stopWith(c.pid)
			}
		default:
			if t != nil {
				t.takeBack()
			}
			if status.Signaled() {
				return signalCode(syscall.Signal(status.Signal()))
			}
			return status.ExitStatus()
		}
	}
}

// Signal sends a signal to the process group. One that arrives when the process has just ended is lost.
func (c *Child) Signal(s os.Signal) {
	select {
	case <-c.done:
	default:
		if n, is := s.(syscall.Signal); is {
			_ = syscall.Kill(-c.pid, n)
		}
	}
}

// Terminate asks the process group to end. What was stopped goes on, to hear it.
func (c *Child) Terminate() {
	c.Signal(syscall.SIGTERM)
	c.Signal(syscall.SIGCONT)
}

// Kill ends the process group, or what is left of it after the process' own end.
func (c *Child) Kill() { _ = syscall.Kill(-c.pid, syscall.SIGKILL) }

// terminal is the terminal of which this program has the foreground.
type terminal struct {
	fd    int
	group int // of this program
}

// terminalOf is the terminal of a file, or nil if it is none, or if another program has its foreground.
func terminalOf(f *os.File) *terminal {
	t := &terminal{fd: int(f.Fd()), group: unix.Getpgrp()}
	if front, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP); err != nil || front != t.group {
		return nil
	}
	return t
}

// give puts a process group into the foreground. A program in the background that does so would be stopped by SIGTTOU.
func (t *terminal) give(group int) {
	signal.Ignore(syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTTOU)
	_ = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, group)
}

func (t *terminal) takeBack() { t.give(t.group) }

// stopWith stops this program, since the child was stopped, until the shell goes on with it. The signal may reach another
// thread first, so that this one runs on for a moment: it waits for SIGCONT, and does not go on with the child before.
func (t *terminal) stopWith(child int) {
	t.takeBack()
	goOn := make(chan os.Signal, 1)
	signal.Notify(goOn, syscall.SIGCONT)
	defer signal.Stop(goOn)
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
	<-goOn
	if front, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP); err == nil && front == t.group { // fg, and not bg
		t.give(child)
	}
	_ = syscall.Kill(-child, syscall.SIGCONT)
}
