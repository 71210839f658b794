package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// writable is a script that does nothing. As its first line does not say that it writes nothing, a server runs it only while
// it would take a write: a PING is answered also by one that has lost its disk, its replicas or its memory. It has no
// key, so any server of a cluster can be asked.
const writable = "#!lua\nreturn 1"

// takesWrites asks a server, or of a cluster any, whether it would take a write.
func takesWrites(ctx context.Context, c redis.Scripter) error {
	return c.Eval(ctx, writable, nil).Err()
}

// shards watches the servers of a cluster one by one: the items of one that is down are answered without it, and those of the
// others as ever.
type shards struct {
	client *redis.ClusterClient

	mu      sync.Mutex
	servers map[string]*server // by address
}

// server is one server of a cluster, a replica too.
type server struct {
	client   *redis.Client
	answered time.Time
	up       bool
}

// watchShards begins to watch the servers of a cluster; nil where the store is none.
func watchShards(c redis.UniversalClient) *shards {
	client, ok := c.(*redis.ClusterClient)
	if !ok {
		return nil
	}
	s := &shards{client: client, servers: map[string]*server{}}
	client.OnNewNode(func(c *redis.Client) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.servers[c.Options().Addr] = &server{client: c, answered: time.Now(), up: true}
	})
	return s
}

// ask asks every server whether it takes writes; nil where one at least does.
func (s *shards) ask(ctx context.Context) error {
	s.mu.Lock()
	all := make(map[string]*server, len(s.servers))
	for addr, one := range s.servers {
		all[addr] = one
	}
	s.mu.Unlock()
	if len(all) == 0 {
		return takesWrites(ctx, s.client) // which gets to know them
	}
	errs := make(chan error, len(all))
	for addr, one := range all {
		go func() { errs <- s.askOne(ctx, addr, one) }()
	}
	var failed error
	some := false
	for range all {
		if err := <-errs; err == nil {
			some = true
		} else if !redis.HasErrorPrefix(err, "READONLY") || failed == nil { // a replica's answer explains nothing
			failed = err
		}
	}
	if some {
		return nil
	}
	return failed
}

func (s *shards) askOne(ctx context.Context, addr string, one *server) error {
	err := takesWrites(ctx, one.client)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch now := time.Now(); {
	case errors.Is(err, redis.ErrClosed):
		if s.servers[addr] == one {
			delete(s.servers, addr) // the cluster has it no more
		}
	case err == nil:
		one.answered, one.up = now, true
	case now.Sub(one.answered) > patience:
		one.up = false
	}
	return err
}

// away reports whether the server that keeps a key is known to be down. Whoever does not know asks it.
func (s *shards) away(key string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	c, err := s.client.MasterForKey(ctx, key)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.servers[c.Options().Addr]
	return one != nil && !one.up
}
