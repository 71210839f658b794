package postgrestest

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// Server is a Postgres that belongs to one test, with one database.
type Server struct {
	tb testing.TB
	s  *server
}

// New starts a server of the test's own; it ends with the test.
func New(tb testing.TB) *Server {
	tb.Helper()
	need(tb)
	s, err := start()
	if err != nil {
		tb.Fatalf("postgrestest: %v", err)
	}
	tb.Cleanup(s.close)
	return &Server{tb: tb, s: s}
}

// URL addresses the server's database as --database-url takes it. It stays the same after Restart.
func (s *Server) URL() string { return s.s.url("postgres") }

// Stop ends the server as a crash does; what was committed stays.
func (s *Server) Stop() {
	s.tb.Helper()
	if err := s.s.stop(); err != nil {
		s.tb.Fatalf("postgrestest: stop: %v", err)
	}
}

// Restart starts it again, where it runs after a Stop.
func (s *Server) Restart() {
	s.tb.Helper()
	s.Stop()
	bin, err := binaries()
	if err == nil {
		err = s.s.run(bin)
	}
	if err != nil {
		s.tb.Fatalf("postgrestest: restart: %v", err)
	}
}

// Pause stops the server in its tracks (SIGSTOP): connections stay open and nothing is answered.
func (s *Server) Pause() {
	s.tb.Helper()
	if err := s.s.signal(syscall.SIGSTOP); err != nil {
		s.tb.Fatalf("postgrestest: pause: %v", err)
	}
}

// Resume lets a paused server go on.
func (s *Server) Resume() {
	s.tb.Helper()
	if err := s.s.signal(syscall.SIGCONT); err != nil {
		s.tb.Fatalf("postgrestest: resume: %v", err)
	}
}

var shared struct {
	mu     sync.Mutex
	server *server
	err    error
	last   atomic.Int64
}

// Shared gives the address of a new, empty database on the one server of this test process, started by the first call.
func Shared(tb testing.TB) string {
	tb.Helper()
	need(tb)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = start()
	}
	if shared.err != nil {
		tb.Fatalf("postgrestest: %v", shared.err)
	}
	name := fmt.Sprintf("t%d", shared.last.Add(1))
	if err := shared.server.exec(tb.Context(), "CREATE DATABASE "+name+" TEMPLATE template0"); err != nil {
		tb.Fatalf("postgrestest: %v", err)
	}
	return shared.server.url(name)
}

// Ending is the tests of a package, with the end of the shared server after them:
//
//	func TestMain(m *testing.M) { os.Exit(postgrestest.Ending{M: m}.Run()) }
//	func TestMain(m *testing.M) { redistest.Main(postgrestest.Ending{M: m}) }
type Ending struct{ M *testing.M }

// Run runs the tests, ends the server, and gives the exit code.
func (e Ending) Run() int {
	code := e.M.Run()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server != nil {
		shared.server.close()
	}
	return code
}

// need skips or fails the test where there is no Postgres.
func need(tb testing.TB) {
	tb.Helper()
	_, err := binaries()
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		tb.Fatal(err)
	default:
		fmt.Fprintf(os.Stderr, "SKIPPED %s: %v\n", tb.Name(), err)
		tb.Skip(err)
	}
}
