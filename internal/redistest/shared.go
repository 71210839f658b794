package redistest

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluicehq/sluice/internal/redisserver"
)

var shared struct {
	mu    sync.Mutex
	redis *redisserver.Server
	err   error
	last  atomic.Int64
}

// Shared returns the one server of this test process, started by the first call, with a key prefix that no other test
// has. Not for tests that flush, kill or pause it, or that count its keys or commands. A package that uses it should
// end it by Main.
func Shared(tb testing.TB) *Server {
	tb.Helper()
	need(tb)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.redis == nil && shared.err == nil {
		shared.redis, shared.err = redisserver.Start()
	}
	if shared.err != nil {
		tb.Fatalf("redistest: %v", shared.err)
	}
	return &Server{tb: tb, redis: shared.redis, shared: true, prefix: fmt.Sprintf("t%d:", shared.last.Add(1))}
}

// Main runs the tests of a package and ends the shared server after them:
//
//	func TestMain(m *testing.M) { redistest.Main(m) }
func Main(m interface{ Run() int }) {
	code := m.Run()
	shared.mu.Lock()
	if shared.redis != nil {
		shared.redis.Close()
	}
	shared.mu.Unlock()
	os.Exit(code)
}
