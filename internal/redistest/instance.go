package redistest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
)

// find gives the path of redis-server.
var find = sync.OnceValues(func() (string, error) { return exec.LookPath("redis-server") })

// instance is one server process and its folder.
type instance struct {
	dir, socket, addr string
	args              []string

	cmd   *exec.Cmd
	out   *bytes.Buffer
	ended chan struct{} // closed when the process is gone
}

// launch starts a server in a folder of its own. A test's TempDir would do but for the 108 bytes that a unix socket's
// path may have.
func launch(args []string) (*instance, error) {
	dir, err := os.MkdirTemp("", "sluice-redis-")
	if err != nil {
		return nil, err
	}
	i := &instance{dir: dir, socket: filepath.Join(dir, "s"), args: args}
	for try := 0; try < 3; try++ {
		var port string
		if port, err = freePort(); err != nil {
			break
		}
		i.addr = net.JoinHostPort("127.0.0.1", port)
		if err = i.start(); err == nil {
			return i, nil
		}
	}
	_ = os.RemoveAll(dir)
	return nil, err
}

// start runs the process and returns when it answers.
func (i *instance) start() error {
	path, err := find()
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(i.addr)
	args := append([]string{
		"--bind", "127.0.0.1", "--port", port, "--unixsocket", i.socket, "--dir", i.dir,
		"--save", "", "--appendonly", "no", "--daemonize", "no", "--loglevel", "warning",
		"--maxclients", "2000", "--protected-mode", "no",
	}, i.args...)
	i.cmd, i.out, i.ended = exec.Command(path, args...), new(bytes.Buffer), make(chan struct{})
	i.cmd.Stdout, i.cmd.Stderr = i.out, i.out
	i.cmd.SysProcAttr = withParent()

	started, ended := make(chan error), i.ended
	go func(cmd *exec.Cmd) {
		// The kernel ends the server when the thread that started it dies; so that thread stays until the server has
		// gone, and a test process that is killed leaves no server behind.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(ended)
	}(i.cmd)
	if err := <-started; err != nil {
		return fmt.Errorf("start redis-server: %w", err)
	}
	if err := ready(i.socket, i.ended); err != nil {
		i.kill()
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(i.out.Bytes()))
	}
	return nil
}

// kill ends the process by its id and waits until it is gone.
func (i *instance) kill() {
	_ = i.cmd.Process.Kill()
	<-i.ended
}

func (i *instance) remove() {
	i.kill()
	_ = os.RemoveAll(i.dir)
}
