package pass

import (
	"hash/maphash"
	"strings"
	"sync"
	"time"
)

// Cache remembers passes whose signature was verified, so that showing one again costs a look-up and no signature. It
// holds only what verified: forged passes take no room. Times, issuer and item are checked at each use all the same.
// It is safe for use by many goroutines; nil is a cache that remembers nothing.
type Cache struct {
	seed   maphash.Seed
	shards [cacheShards]cacheShard
}

const cacheShards = 16

// keepCached is how long a pass is remembered at least that nobody shows, as long as there is room.
const keepCached = 30 * time.Second

// cacheShard keeps two generations: what was used lately is in young; once that is full, or half a minute old, it becomes
// old, and what was in old and not used since is forgotten. So both bounds hold without a list to keep in order.
type cacheShard struct {
	mu         sync.Mutex
	most       int       // in each generation
	turns      time.Time // when young becomes old
	young, old map[string]*Claims
	_          [32]byte // a cache line of its own
}

// NewCache makes a cache of at most passes entries (about 700 bytes each); at least 32.
func NewCache(passes int) *Cache {
	c := &Cache{seed: maphash.MakeSeed()}
	for i := range c.shards {
		c.shards[i].most = max(1, passes/(2*cacheShards))
		// One shard turns after the other: all at once, the memory would go up and down.
		c.shards[i].turns = time.Now().Add(keepCached * time.Duration(i+1) / cacheShards)
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
	if now := time.Now(); len(s.young) >= s.most || now.After(s.turns) {
		s.young, s.old = make(map[string]*Claims), s.young
		if s.turns = s.turns.Add(keepCached); s.turns.Before(now) {
			s.turns = now.Add(keepCached)
		}
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
