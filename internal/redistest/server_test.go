package redistest_test

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func TestServer(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := redistest.New(t)
	c := s.Client()

	if err := c.Set(ctx, "a", "1", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", s.Addr()); err != nil {
		t.Errorf("the loopback port does not answer: %v", err)
	} else {
		conn.Close()
	}

	s.Pause()
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	if err := c.Get(short, "a").Err(); err == nil {
		t.Error("a paused server answered")
	}
	cancel()
	s.Resume()
	if got := c.Get(ctx, "a").Val(); got != "1" {
		t.Errorf("after Resume a = %q, want 1", got)
	}

	s.Kill()
	s.Kill()
	if err := c.Ping(ctx).Err(); err == nil {
		t.Error("a killed server answered")
	}
	url, addr := s.URL(), s.Addr()
	s.Restart()
	if err := c.Get(ctx, "a").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("after Restart a gives %v, want nothing", err)
	}
	if s.URL() != url || s.Addr() != addr {
		t.Error("Restart moved the server")
	}
}

func TestNewTakesArguments(t *testing.T) {
	t.Parallel()
	c := redistest.New(t, "--maxmemory", "20mb").Client()
	if got := c.ConfigGet(context.Background(), "maxmemory").Val()["maxmemory"]; got != "20971520" {
		t.Errorf("maxmemory = %s", got)
	}
}

func TestServerIsGoneAfterTheTest(t *testing.T) {
	t.Parallel()
	var url string
	t.Run("a test with a server", func(t *testing.T) { url = redistest.New(t).URL() })
	if url == "" {
		t.Skip("no redis-server") // already said by New
	}
	if _, err := os.Stat(strings.TrimPrefix(url, "unix://")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestSharedGivesEachTestItsOwnPrefix(t *testing.T) {
	t.Parallel()
	a, b := redistest.Shared(t), redistest.Shared(t)
	if a.URL() != b.URL() {
		t.Error("two servers")
	}
	if a.Prefix() == b.Prefix() {
		t.Errorf("both have prefix %q", a.Prefix())
	}
}
