package redistest

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/internal/redisserver"
)

// Server is a redis-server that belongs to one test, or, from Shared, one test's part of a server.
type Server struct {
	tb     testing.TB
	redis  *redisserver.Server
	prefix string
	shared bool
}

// New starts a server of the test's own; it ends with the test. Args are added to redis-server's command line, such as
// "--maxmemory", "20mb".
func New(tb testing.TB, args ...string) *Server {
	tb.Helper()
	need(tb)
	s, err := redisserver.Start(args...)
	if err != nil {
		tb.Fatalf("redistest: %v", err)
	}
	tb.Cleanup(s.Close)
	return &Server{tb: tb, redis: s, prefix: "sluice:"}
}

// Client returns a new client without retries, so that a test sees each error once. It is closed with the test.
func (s *Server) Client() *redis.Client {
	c := s.redis.Client()
	s.tb.Cleanup(func() { _ = c.Close() })
	return c
}

// Prefix is the key prefix for this test: "sluice:" on a server of its own, a unique one on a shared server.
func (s *Server) Prefix() string { return s.prefix }

// URL addresses the server as --redis-url takes it, over the unix socket. It stays the same after Restart.
func (s *Server) URL() string { return s.redis.URL() }

// Addr is the loopback host:port of the same server, for proxies that cut or delay connections.
func (s *Server) Addr() string { return s.redis.Addr() }

// Kill ends the server as kill -9 does and returns once it is gone. Its data is lost. Killing twice is safe.
func (s *Server) Kill() {
	s.tb.Helper()
	s.own("Kill")
	s.redis.Kill()
}

// Pause stops the server in its tracks (SIGSTOP): connections stay open and nothing is answered.
func (s *Server) Pause() {
	s.tb.Helper()
	s.signal("Pause", syscall.SIGSTOP)
}

// Resume lets a paused server go on.
func (s *Server) Resume() {
	s.tb.Helper()
	s.signal("Resume", syscall.SIGCONT)
}

// Restart ends the server where it still runs, and starts an empty one at the same socket and port.
func (s *Server) Restart() {
	s.tb.Helper()
	s.own("Restart")
	if err := s.redis.Restart(); err != nil {
		s.tb.Fatalf("redistest: restart: %v", err)
	}
}

func (s *Server) signal(what string, sig os.Signal) {
	s.tb.Helper()
	s.own(what)
	if err := s.redis.Signal(sig); err != nil {
		s.tb.Fatalf("redistest: %s: %v", what, err)
	}
}

// own stops a test that would do to others what they do not expect.
func (s *Server) own(what string) {
	s.tb.Helper()
	if s.shared {
		s.tb.Fatalf("redistest: %s needs a server of its own: use New", what)
	}
}

// need skips or fails the test where there is no redis-server.
func need(tb testing.TB) {
	tb.Helper()
	err := redisserver.Installed()
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		tb.Fatal(err)
	default:
		fmt.Fprintf(os.Stderr, "SKIPPED %s: %v\n", tb.Name(), err)
		tb.Skip(err)
	}
}
