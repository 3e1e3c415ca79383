//go:build !linux

package worker

import "os/exec"

// bindToParent does nothing: only Linux can tie a process' life to its parent's. Elsewhere
// a worker ends with its standard input, unless it is stopped.
func bindToParent(*exec.Cmd) {}
