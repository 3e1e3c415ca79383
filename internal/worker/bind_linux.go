package worker

import (
	"os/exec"
	"syscall"
)

// bindToParent makes the kernel kill the worker when the test process dies. A stopped one
// would not notice that its pipe is closed.
func bindToParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
