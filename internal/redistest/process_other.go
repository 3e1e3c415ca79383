//go:build !linux

package redistest

import "os/exec"

// bindToParent does nothing: only Linux can tie a child's life to its parent's.
// Elsewhere a test process that dies without its cleanups leaves its servers.
func bindToParent(*exec.Cmd) {}
