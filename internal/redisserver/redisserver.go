// Package redisserver runs a private redis-server from PATH, on a unix socket and a loopback port, without persistence:
// for tests (internal/redistest) and benchmarks (internal/bench).
package redisserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/sluicehq/sluice/internal/childproc"
)

// ErrMissing says that there is no redis-server in PATH.
var ErrMissing = errors.New("redis-server is not in PATH (deploy/install-test-deps.sh installs it)")

var find = sync.OnceValues(func() (string, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return "", ErrMissing
	}
	return path, nil
})

// Installed gives ErrMissing where there is no redis-server.
func Installed() error {
	_, err := find()
	return err
}

// Server is a redis-server and its folder. Not safe for use by many goroutines; its clients are.
type Server struct {
	dir, socket, addr string
	args              []string
	child             *childproc.Child
}

// Start runs a server and returns when it answers. Args are added to its command line, such as "--maxmemory", "20mb".
// Close ends it.
func Start(args ...string) (*Server, error) {
	// A unix socket's path may have 108 bytes, so the folder is not below a test's own.
	dir, err := os.MkdirTemp("", "sluice-redis-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, socket: filepath.Join(dir, "s"), args: args}
	for try := 0; try < 3; try++ { // somebody else may take the port first
		if s.addr, err = FreeAddr(); err != nil {
			break
		}
		if err = s.run(); err == nil {
			return s, nil
		}
	}
	_ = os.RemoveAll(dir)
	return nil, err
}

// FreeAddr asks the kernel for a loopback host:port that nobody listens on at this moment.
func FreeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func (s *Server) run() error {
	path, err := find()
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(s.addr)
	s.child, err = childproc.Start(exec.Command(path, append([]string{
		"--bind", "127.0.0.1", "--port", port, "--unixsocket", s.socket, "--dir", s.dir,
		"--save", "", "--appendonly", "no", "--daemonize", "no", "--loglevel", "warning",
		"--maxclients", "2000", "--protected-mode", "no",
	}, s.args...)...))
	if err != nil {
		return err
	}
	if err := s.ready(); err != nil {
		s.child.Kill()
		return fmt.Errorf("%w: %s", err, s.child.Output())
	}
	return nil
}

// ready waits until the server answers, or has ended, or for 10 s.
func (s *Server) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		err := s.ping()
		if err == nil {
			return nil
		}
		select {
		case <-s.child.Ended():
			return errors.New("redis-server ended at once")
		case <-ctx.Done():
			return fmt.Errorf("redis-server does not answer: %w", err)
		case <-time.After(wait):
		}
	}
}

// ping speaks to the socket by itself: the client would log each attempt that comes too early.
func (s *Server) ping() error {
	conn, err := net.DialTimeout("unix", s.socket, time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	pong := make([]byte, 7)
	if _, err := io.ReadFull(conn, pong); err != nil {
		return err
	}
	if string(pong) != "+PONG\r\n" {
		return fmt.Errorf("answers %q", pong)
	}
	return nil
}

// Client returns a client without retries; the caller closes it.
func (s *Server) Client() *redis.Client {
	o := options(s.socket)
	o.Network = "unix"
	return redis.NewClient(o)
}

func options(addr string) *redis.Options {
	return &redis.Options{
		Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true,
		DialTimeout: 2 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second,
		DialerRetries: 1, PoolSize: 16, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// URL addresses the server as --redis-url takes it, over the unix socket. Restart keeps it.
func (s *Server) URL() string { return "unix://" + s.socket }

// Addr is the loopback host:port of the same server.
func (s *Server) Addr() string { return s.addr }

// Signal sends sig to the process.
func (s *Server) Signal(sig os.Signal) error { return s.child.Signal(sig) }

// Kill ends the process as kill -9 does and returns once it is gone; the data is lost. Twice is safe.
func (s *Server) Kill() { s.child.Kill() }

// Restart ends the process where it still runs, and starts an empty one at the same socket and port.
func (s *Server) Restart() error {
	s.Kill()
	return s.run()
}

// Close ends the server and removes its folder.
func (s *Server) Close() {
	s.Kill()
	_ = os.RemoveAll(s.dir)
}
