package redistest

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Server is a redis-server that belongs to one test, or, from Shared, one test's part of a server.
type Server struct {
	tb     testing.TB
	inst   *instance
	prefix string
	shared bool
}

// New starts a server of the test's own; it ends with the test. Args are added to redis-server's command line, such as
// "--maxmemory", "20mb".
func New(tb testing.TB, args ...string) *Server {
	tb.Helper()
	need(tb)
	inst, err := launch(args)
	if err != nil {
		tb.Fatalf("redistest: %v", err)
	}
	tb.Cleanup(inst.remove)
	return &Server{tb: tb, inst: inst, prefix: "sluice:"}
}

// Client returns a new client without retries, so that a test sees each error once. It is closed with the test.
func (s *Server) Client() *redis.Client {
	c := redis.NewClient(options("unix", s.inst.socket))
	s.tb.Cleanup(func() { _ = c.Close() })
	return c
}

// Prefix is the key prefix for this test: "sluice:" on a server of its own, a unique one on a shared server.
func (s *Server) Prefix() string { return s.prefix }

// URL addresses the server as --redis-url takes it, over the unix socket. It stays the same after Restart.
func (s *Server) URL() string { return "unix://" + s.inst.socket }

// Addr is the loopback host:port of the same server, for proxies that cut or delay connections.
func (s *Server) Addr() string { return s.inst.addr }

// Kill ends the server as kill -9 does and returns once it is gone. Its data is lost. Killing twice is safe.
func (s *Server) Kill() {
	s.own("Kill")
	s.inst.kill()
}

// Pause stops the server in its tracks (SIGSTOP): connections stay open and nothing is answered.
func (s *Server) Pause() {
	s.own("Pause")
	s.signal(syscall.SIGSTOP)
}

// Resume lets a paused server go on.
func (s *Server) Resume() {
	s.own("Resume")
	s.signal(syscall.SIGCONT)
}

// Restart ends the server where it still runs, and starts an empty one at the same socket and port.
func (s *Server) Restart() {
	s.tb.Helper()
	s.own("Restart")
	s.inst.kill()
	if err := s.inst.start(); err != nil {
		s.tb.Fatalf("redistest: restart: %v", err)
	}
}

func (s *Server) signal(sig syscall.Signal) {
	s.tb.Helper()
	if err := s.inst.cmd.Process.Signal(sig); err != nil {
		s.tb.Fatalf("redistest: %v: %v", sig, err)
	}
}

// own stops a test that would do to others what they do not expect.
func (s *Server) own(what string) {
	s.tb.Helper()
	if s.shared {
		s.tb.Fatalf("redistest: %s needs a server of its own: use New", what)
	}
}

func options(network, addr string) *redis.Options {
	return &redis.Options{
		Network: network, Addr: addr,
		MaxRetries: -1, ContextTimeoutEnabled: true,
		DialTimeout: 2 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second,
		DialerRetries: 1, PoolSize: 16, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// need skips or fails the test where there is no redis-server.
func need(tb testing.TB) {
	tb.Helper()
	if _, err := find(); err == nil {
		return
	}
	const why = "redis-server is not in PATH; this test needs a real Redis (make test installs it)"
	if os.Getenv("CI") == "true" {
		tb.Fatal(why)
	}
	fmt.Fprintf(os.Stderr, "SKIPPED %s: %s\n", tb.Name(), why)
	tb.Skip(why)
}

// freePort asks the kernel for a loopback port. Somebody else may take it before the server does; start tries again.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// ready waits until the server answers, or until it has ended, or for 10 s.
func ready(socket string, ended <-chan struct{}) error {
	c := redis.NewClient(options("unix", socket))
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		err := c.Ping(ctx).Err()
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return fmt.Errorf("redis-server ended at once")
		case <-ctx.Done():
			return fmt.Errorf("redis-server does not answer on %s: %w", filepath.Base(socket), err)
		case <-time.After(wait):
		}
	}
}
