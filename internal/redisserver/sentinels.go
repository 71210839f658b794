package redisserver

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/internal/childproc"
)

// FaultTimeout is how long sentinels and the nodes of a cluster wait for an answer before one counts as down.
const FaultTimeout = 5 * time.Second

// Sentinels is a primary with one replica, and three sentinels that make the replica the primary where the other does not
// answer for FaultTimeout. Not safe for use by many goroutines.
type Sentinels struct {
	Servers [2]*Server // the first begins as the primary

	dir      string
	addrs    []string
	children []*childproc.Child
}

// sentinelName is what the sentinels call the primary.
const sentinelName = "sluice"

// StartSentinels returns when the sentinels know of each other and of the replica, and the replica has the primary's data.
// Close ends all of them. Args are added to the command line of both servers.
func StartSentinels(args ...string) (s *Sentinels, err error) {
	s = &Sentinels{}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if s.Servers[0], err = Start(args...); err != nil {
		return nil, err
	}
	host, port, _ := net.SplitHostPort(s.Servers[0].Addr())
	if s.Servers[1], err = Start(append([]string{"--replicaof", host + " " + port}, args...)...); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "sluice-sentinel-"); err != nil {
		return nil, err
	}
	for range 3 {
		if err := s.watch(host, port); err != nil {
			return nil, err
		}
	}
	return s, s.settle()
}

// watch starts one sentinel.
func (s *Sentinels) watch(host, port string) error {
	path, err := find()
	if err != nil {
		return err
	}
	addr, err := FreeAddr()
	if err != nil {
		return err
	}
	_, own, _ := net.SplitHostPort(addr)
	ms := FaultTimeout.Milliseconds()
	config := filepath.Join(s.dir, own+".conf")
	text := fmt.Sprintf("port %s\nbind 127.0.0.1\nprotected-mode no\ndir %s\nsentinel monitor %[3]s %s %s 2\n"+
		"sentinel down-after-milliseconds %[3]s %[6]d\nsentinel failover-timeout %[3]s %[7]d\n", own, s.dir, sentinelName, host, port, ms, 2*ms)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	child, err := childproc.Start(exec.Command(path, config, "--sentinel"))
	if err != nil {
		return err
	}
	s.addrs, s.children = append(s.addrs, addr), append(s.children, child)
	return nil
}

// settle waits until every sentinel knows of the other two and of a replica that follows.
func (s *Sentinels) settle() error {
	return within(30*time.Second, "the sentinels do not find each other", func(ctx context.Context) bool {
		for _, addr := range s.addrs {
			c := redis.NewClient(options(addr))
			state, err := c.Do(ctx, "SENTINEL", "MASTER", sentinelName).Result()
			_ = c.Close()
			fields, ok := state.(map[any]any)
			if err != nil || !ok || fields["num-slaves"] != "1" || fields["num-other-sentinels"] != "2" {
				return false
			}
		}
		return s.Servers[1].follows(ctx)
	})
}

// Addrs are the sentinels' host:port.
func (s *Sentinels) Addrs() []string { return s.addrs }

// URL addresses the servers as --redis-url takes it.
func (s *Sentinels) URL() string {
	return "redis+sentinel://" + strings.Join(s.addrs, ",") + "/" + sentinelName
}

// Primary is the server that the sentinels believe to be the primary; nil where they do not say.
func (s *Sentinels) Primary(ctx context.Context) *Server {
	for _, addr := range s.addrs {
		c := redis.NewSentinelClient(options(addr))
		at, err := c.GetMasterAddrByName(ctx, sentinelName).Result()
		_ = c.Close()
		if err != nil || len(at) != 2 {
			continue
		}
		for _, server := range s.Servers {
			if server.Addr() == net.JoinHostPort(at[0], at[1]) {
				return server
			}
		}
	}
	return nil
}

// Failover has the sentinels make the replica the primary, as an operator does.
func (s *Sentinels) Failover(ctx context.Context) error {
	c := redis.NewSentinelClient(options(s.addrs[0]))
	defer c.Close()
	return c.Failover(ctx, sentinelName).Err()
}

// Close ends the sentinels and the servers.
func (s *Sentinels) Close() {
	for _, child := range s.children {
		child.Kill()
	}
	for _, server := range s.Servers {
		if server != nil {
			server.Close()
		}
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}
