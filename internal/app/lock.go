package app

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockDir makes sure that one process alone keeps its line over a data folder: two lines in two processes would let in
// twice as many. The lock goes with the process.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--data-dir: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("--data-dir: another node without --redis-url uses %s; nodes that share a line need --redis-url", dir)
	}
	return f, nil
}
