package childproc

import "syscall"

// withParent ends the child with this process, however that ends.
func withParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
