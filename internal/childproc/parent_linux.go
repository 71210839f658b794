package childproc

import "syscall"

// withParent ends the child with this process, however that ends. What the caller asked for stays.
func withParent(asked *syscall.SysProcAttr) *syscall.SysProcAttr {
	attr := syscall.SysProcAttr{}
	if asked != nil {
		attr = *asked
	}
	attr.Pdeathsig = syscall.SIGKILL
	return &attr
}
