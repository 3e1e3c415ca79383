package child

import "syscall"

// endWithParent has the kernel kill the process when this program is killed.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
