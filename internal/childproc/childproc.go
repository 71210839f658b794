// Package childproc runs a program as a child that never outlives this process.
package childproc

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
)

// Child is a running program.
type Child struct {
	cmd   *exec.Cmd
	out   tail
	ended chan struct{}
}

// Start runs cmd. What it prints is kept in part, for messages (see Output); on Linux the kernel ends it with this
// process, however that ends.
func Start(cmd *exec.Cmd) (*Child, error) {
	c := &Child{cmd: cmd, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = &c.out, &c.out, withParent(cmd.SysProcAttr)
	started := make(chan error)
	go func() {
		// The kernel's promise is bound to the thread that started the child, so that thread stays as long as it runs.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(c.ended)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return c, nil
}

// PID is the process id.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Signal sends sig.
func (c *Child) Signal(sig os.Signal) error { return c.cmd.Process.Signal(sig) }

// Ended is closed when the program has ended.
func (c *Child) Ended() <-chan struct{} { return c.ended }

// ExitCode is that of the program once it has ended; -1 where a signal ended it.
func (c *Child) ExitCode() int {
	<-c.ended
	return c.cmd.ProcessState.ExitCode()
}

// Kill ends the program as kill -9 does, and returns when it is gone. Killing twice is safe.
func (c *Child) Kill() {
	_ = c.cmd.Process.Kill()
	<-c.ended
}

// Output is the end of what the program has printed, at most 8 KiB.
func (c *Child) Output() string { return c.out.String() }

// tail keeps the last 8 KiB written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const keep = 8 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if n := len(t.buf) - keep; n > 0 {
		t.buf = append(t.buf[:0], t.buf[n:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.buf))
}
