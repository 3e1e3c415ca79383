//go:build unix

package demo

import "syscall"

// CanPause says that Pause stops a process.
const CanPause = true

// Pause stops the child (SIGSTOP): it keeps its memory and its connections and does
// nothing, as on a machine that hangs. The kernel stops it a moment later.
func (p *Process) Pause() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

// Continue lets a stopped child go on.
func (p *Process) Continue() error { return p.cmd.Process.Signal(syscall.SIGCONT) }
