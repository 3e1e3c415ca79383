package redistest

import (
	"os/exec"
	"syscall"
)

// bindToParent makes the kernel kill the child when the test process dies. A
// test that times out panics without running its cleanups, and its servers
// would live on.
func bindToParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
