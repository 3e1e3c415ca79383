//go:build !linux

package child

import "os/exec"

// bindToParent does nothing: only Linux can tie a child's life to its parent's.
func bindToParent(*exec.Cmd) {}
