//go:build !linux

package childproc

import "syscall"

// withParent has nothing to ask for where the kernel cannot end a child with its parent.
func withParent() *syscall.SysProcAttr { return nil }
