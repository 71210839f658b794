package redisserver

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Cluster is a Redis Cluster of three masters with a replica each. A master that does not answer for FaultTimeout is
// replaced by its replica. Not safe for use by many goroutines.
type Cluster struct {
	Servers []*Server // three masters and then, in the same order, their replicas; as it was at the start
	ids     []string
}

const (
	masters = 3
	slots   = 16384
)

// StartCluster returns when every node finds the cluster whole and the replicas have their masters' data. Close ends it.
func StartCluster() (c *Cluster, err error) {
	c = &Cluster{}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for range 2 * masters {
		if err := c.add(ctx); err != nil {
			return nil, err
		}
	}
	for i := range masters {
		from, to := slots*i/masters, slots*(i+1)/masters-1
		if err := c.Servers[i].do(ctx, "CLUSTER", "ADDSLOTSRANGE", from, to); err != nil {
			return nil, err
		}
	}
	if err := c.acquainted(); err != nil {
		return nil, err
	}
	for i := range masters {
		if err := c.Servers[masters+i].do(ctx, "CLUSTER", "REPLICATE", c.ids[i]); err != nil {
			return nil, err
		}
	}
	return c, within(30*time.Second, "the cluster does not become whole", func(ctx context.Context) bool {
		for i, s := range c.Servers {
			if !s.whole(ctx) || i >= masters && !s.follows(ctx) {
				return false
			}
		}
		return true
	})
}

// add starts one more node and has the first meet it.
func (c *Cluster) add(ctx context.Context) error {
	bus, err := FreeAddr()
	if err != nil {
		return err
	}
	_, busPort, _ := net.SplitHostPort(bus)
	s, err := Start("--cluster-enabled", "yes", "--cluster-port", busPort, "--cluster-node-timeout", strconv.FormatInt(FaultTimeout.Milliseconds(), 10),
		"--cluster-replica-validity-factor", "0", "--cluster-require-full-coverage", "no", "--cluster-allow-replica-migration", "no")
	if err != nil {
		return err
	}
	c.Servers = append(c.Servers, s)
	client := s.Client()
	defer client.Close()
	id, err := client.Do(ctx, "CLUSTER", "MYID").Text()
	if err != nil {
		return err
	}
	c.ids = append(c.ids, id)
	if len(c.Servers) == 1 {
		return nil
	}
	host, port, _ := net.SplitHostPort(s.Addr())
	return c.Servers[0].do(ctx, "CLUSTER", "MEET", host, port, busPort)
}

// acquainted waits until every node knows all others.
func (c *Cluster) acquainted() error {
	return within(30*time.Second, "the nodes of the cluster do not meet", func(ctx context.Context) bool {
		for _, s := range c.Servers {
			client := s.Client()
			nodes, err := client.ClusterNodes(ctx).Result()
			_ = client.Close()
			if err != nil || strings.Count(nodes, "connected") < len(c.Servers) || strings.Contains(nodes, "handshake") {
				return false
			}
		}
		return true
	})
}

// AddMaster starts one more master, without slots, and returns when all know it.
func (c *Cluster) AddMaster() (*Server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := c.add(ctx); err != nil {
		return nil, err
	}
	if err := c.acquainted(); err != nil {
		return nil, err
	}
	added := c.Servers[len(c.Servers)-1]
	return added, within(30*time.Second, "the new node does not find the cluster whole", added.whole)
}

// MoveSlots moves slots first to last, with their keys, from one master to another, as redis-cli's reshard does: key by key,
// while visitors ask.
func (c *Cluster) MoveSlots(ctx context.Context, from, to *Server, first, last int) error {
	fromID, toID := c.ids[slices.Index(c.Servers, from)], c.ids[slices.Index(c.Servers, to)]
	host, port, _ := net.SplitHostPort(to.Addr())
	source := from.Client()
	defer source.Close()
	for slot := first; slot <= last; slot++ {
		if err := to.do(ctx, "CLUSTER", "SETSLOT", slot, "IMPORTING", fromID); err != nil {
			return err
		}
		if err := from.do(ctx, "CLUSTER", "SETSLOT", slot, "MIGRATING", toID); err != nil {
			return err
		}
		for {
			keys, err := source.ClusterGetKeysInSlot(ctx, slot, 10).Result()
			if err != nil {
				return err
			}
			if len(keys) == 0 {
				break
			}
			args := []any{"MIGRATE", host, port, "", 0, 5000, "KEYS"}
			for _, key := range keys {
				args = append(args, key)
			}
			if err := source.Do(ctx, args...).Err(); err != nil {
				return fmt.Errorf("migrate slot %d: %w", slot, err)
			}
		}
		for _, s := range []*Server{to, from} {
			if err := s.do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", toID); err != nil {
				return err
			}
		}
		for _, s := range c.Servers { // the others would hear of it by and by; those that are replicas or dead refuse
			if s != to && s != from {
				_ = s.do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", toID)
			}
		}
	}
	return nil
}

// MasterOf is the server that serves a key's slot, as far as any node that answers knows; nil where none does.
func (c *Cluster) MasterOf(ctx context.Context, key string) *Server {
	for _, s := range c.Servers {
		client := s.Client()
		slot, err := client.ClusterKeySlot(ctx, key).Result()
		if err != nil {
			_ = client.Close()
			continue
		}
		shards, err := client.ClusterShards(ctx).Result()
		_ = client.Close()
		if err != nil {
			continue
		}
		if master := c.serves(shards, slot); master != nil {
			return master
		}
	}
	return nil
}

// serves gives the master of the shard that holds a slot; nil where the shard has none.
func (c *Cluster) serves(shards []redis.ClusterShard, slot int64) *Server {
	for _, shard := range shards {
		if !slices.ContainsFunc(shard.Slots, func(r redis.SlotRange) bool { return r.Start <= slot && slot <= r.End }) {
			continue
		}
		for _, n := range shard.Nodes {
			at := net.JoinHostPort(n.IP, strconv.FormatInt(n.Port, 10))
			i := slices.IndexFunc(c.Servers, func(s *Server) bool { return s.Addr() == at })
			if n.Role == "master" && i >= 0 {
				return c.Servers[i]
			}
		}
	}
	return nil
}

// URL addresses the cluster as --redis-url takes it.
func (c *Cluster) URL() string {
	var addrs []string
	for _, s := range c.Servers {
		addrs = append(addrs, s.Addr())
	}
	return "redis+cluster://" + strings.Join(addrs, ",")
}

// Client returns a client of the whole cluster, without retries; the caller closes it.
func (c *Cluster) Client() *redis.ClusterClient {
	o := &redis.ClusterOptions{MaxRetries: -1, ContextTimeoutEnabled: true, ReadTimeout: 5 * time.Second, DisableIdentity: true}
	for _, s := range c.Servers {
		o.Addrs = append(o.Addrs, s.Addr())
	}
	return redis.NewClusterClient(o)
}

// Close ends all nodes.
func (c *Cluster) Close() {
	for _, s := range c.Servers {
		s.Close()
	}
}
