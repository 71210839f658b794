package pass

import (
	"hash/maphash"
	"strings"
	"sync"
)

// Cache remembers passes whose signature was verified, so that showing one again costs a look-up and no signature. It
// holds only what verified: forged passes take no room. Times, issuer and item are checked at each use all the same.
// It is safe for use by many goroutines; nil is a cache that remembers nothing.
type Cache struct {
	seed   maphash.Seed
	shards [cacheShards]cacheShard
}

const cacheShards = 16

// cacheShard keeps two generations: what was used lately is in young; once that is full it becomes old, and what was
// in old and not used since is forgotten. So the bound holds without a list to keep in order.
type cacheShard struct {
	mu         sync.Mutex
	most       int // in each generation
	young, old map[string]*Claims
	_          [32]byte // a cache line of its own
}

// NewCache makes a cache of at most passes entries (about 700 bytes each); at least 32.
func NewCache(passes int) *Cache {
	c := &Cache{seed: maphash.MakeSeed()}
	for i := range c.shards {
		c.shards[i].most = max(1, passes/(2*cacheShards))
		c.shards[i].young = make(map[string]*Claims)
	}
	return c
}

// shard picks by the end of the token, which is of its signature and so differs enough.
func (c *Cache) shard(token string) *cacheShard {
	return &c.shards[maphash.String(c.seed, token[max(0, len(token)-16):])%cacheShards]
}

func (c *Cache) get(token string) (Claims, bool) {
	if c == nil {
		return Claims{}, false
	}
	s := c.shard(token)
	s.mu.Lock()
	defer s.mu.Unlock()
	claims, ok := s.young[token]
	if !ok {
		if claims, ok = s.old[token]; !ok {
			return Claims{}, false
		}
		s.put(strings.Clone(token), claims)
	}
	return *claims, true
}

func (c *Cache) put(token string, claims Claims) {
	if c == nil {
		return
	}
	s := c.shard(token)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(strings.Clone(token), &claims) // a clone: the token may be a part of a much longer request
}

func (s *cacheShard) put(token string, claims *Claims) {
	if len(s.young) >= s.most {
		s.young, s.old = make(map[string]*Claims, s.most), s.young
	}
	s.young[token] = claims
}

// Len is how many passes are remembered; one that is used while it is about to be forgotten counts twice.
func (c *Cache) Len() int {
	n := 0
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		n += len(s.young) + len(s.old)
		s.mu.Unlock()
	}
	return n
}
