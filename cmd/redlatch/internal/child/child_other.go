//go:build unix && !linux

package child

import "syscall"

// endWithParent can do nothing here: only Linux tells a process that its parent has ended.
func endWithParent(*syscall.SysProcAttr) {}
