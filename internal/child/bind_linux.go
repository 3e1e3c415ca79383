package child

import (
	"os/exec"
	"syscall"
)

// bindToParent makes the kernel kill the child when this process dies. A test that times
// out panics without its clean-ups, and a stopped child does not see that its pipes are
// closed.
func bindToParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
