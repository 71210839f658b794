package redistest

import "syscall"

// withParent ends the server with the test process, however that ends.
func withParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
