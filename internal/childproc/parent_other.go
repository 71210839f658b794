//go:build !linux

package childproc

import "syscall"

// withParent has nothing to add where the kernel cannot end a child with its parent.
func withParent(asked *syscall.SysProcAttr) *syscall.SysProcAttr { return asked }
