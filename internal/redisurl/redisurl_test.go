package redisurl_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/internal/redistest"
	"github.com/sluicehq/sluice/internal/redisurl"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, raw, addrs, master string
		db                       int
		user, password           string
		tls, cluster             bool
	}{
		{name: "a host alone gets the port", raw: "redis://h", addrs: "h:6379"},
		{name: "an IPv6 address alone gets the port", raw: "redis://[::1]", addrs: "[::1]:6379"},
		{name: "user, password, port, database", raw: "redis://u:p@h:7/3", addrs: "h:7", user: "u", password: "p", db: 3},
		{name: "a password alone", raw: "redis://:p%40@h:7", addrs: "h:7", password: "p@"},
		{name: "a password that ends in =", raw: "redis://:cGFzcw==@h:7", addrs: "h:7", password: "cGFzcw=="},
		{name: "TLS", raw: "rediss://h", addrs: "h:6379", tls: true},
		{name: "sentinels", raw: "redis+sentinel://u:p@a,b:1/main/2", addrs: "a:26379 b:1", master: "main", user: "u", password: "p", db: 2},
		{name: "sentinels with TLS", raw: "rediss+sentinel://a/main", addrs: "a:26379", master: "main", tls: true},
		{name: "a cluster of one seed", raw: "redis+cluster://a:7000", addrs: "a:7000", cluster: true},
		{name: "a cluster of several seeds", raw: "redis+cluster://:p@a:7000,b:7001", addrs: "a:7000 b:7001", password: "p", cluster: true},
		{name: "a socket", raw: "unix:///run/r.sock?db=1", addrs: "/run/r.sock", db: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o, err := redisurl.Parse(c.raw)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(o.Addrs, " "); got != c.addrs {
				t.Errorf("addresses %q, want %q", got, c.addrs)
			}
			if o.MasterName != c.master || o.DB != c.db || o.Username != c.user || o.Password != c.password {
				t.Errorf("%q %d %q %q", o.MasterName, o.DB, o.Username, o.Password)
			}
			if (o.TLSConfig != nil) != c.tls || o.IsClusterMode != c.cluster {
				t.Errorf("TLS %v, cluster %v", o.TLSConfig != nil, o.IsClusterMode)
			}
			if o.MaxRetries != -1 || !o.ContextTimeoutEnabled || o.ReadTimeout != redisurl.Timeout {
				t.Error("retries or time limits are not what a visitor's path needs")
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"", "h:6379", "http://h", "redis://", "redis://a,b", "redis://h/x", "redis://h/-1", "redis://h?hunter2=1",
		"redis+sentinel://a:26379", "redis+sentinel:///main", "redis+cluster://", "redis+cluster://a/1", "unix://", "unix://r.sock",
		"rediss+http://h", "redis://:hunter2/x@h",
	} {
		if _, err := redisurl.Parse(raw); err == nil {
			t.Errorf("%q was taken", raw)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the error shows the address: %v", raw, err)
		}
	}
}

// B173: two passwords, one for the sentinels.
func TestParseTakesThePasswordsOfSentinelsApart(t *testing.T) {
	t.Parallel()
	o, err := redisurl.Parse("redis+sentinel://u:p@a/main?sentinel_username=su&sentinel_password=s%26p+1")
	if err != nil {
		t.Fatal(err)
	}
	if o.Password != "p" || o.SentinelUsername != "su" || o.SentinelPassword != "s&p+1" {
		t.Errorf("%q %q %q", o.Password, o.SentinelUsername, o.SentinelPassword)
	}
}

// B173: an encoded password connects, a wrong one is said to be wrong without being shown.
func TestOpenWithAPassword(t *testing.T) {
	t.Parallel()
	const password = "p@s/s=w+d%25#x"
	s := redistest.New(t)
	ctx := context.Background()
	if err := s.Client().ConfigSet(ctx, "requirepass", password).Err(); err != nil {
		t.Fatal(err)
	}
	ping := func(password string) error {
		c, err := redisurl.Open("redis://:" + url.QueryEscape(password) + "@" + s.Addr())
		if err != nil {
			return err
		}
		defer c.Close()
		return c.Ping(ctx).Err()
	}
	if err := ping(password); err != nil {
		t.Errorf("the right password: %v", err)
	}
	err := ping("hunter2hunter2")
	if !redis.IsAuthError(err) && (err == nil || !strings.Contains(err.Error(), "WRONGPASS")) {
		t.Errorf("the wrong password: %v", err)
	}
	if err != nil && strings.Contains(err.Error(), "hunter2") {
		t.Errorf("shown: %v", err)
	}
}

func TestOpenOnASocketKeepsTheDeadline(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	c, err := redisurl.Open(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Ping(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}
	s.Pause()
	defer s.Resume()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if err := c.Ping(ctx).Err(); !errors.Is(err, context.DeadlineExceeded) && !strings.Contains(err.Error(), "timeout") {
		t.Errorf("a stopped store: %v", err)
	}
	if took := time.Since(start); took > 400*time.Millisecond {
		t.Errorf("took %v for a deadline of 50 ms", took)
	}
}
