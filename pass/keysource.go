package pass

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// keysAge is how old the keys may be before they are fetched again, beside the requests: a new key is published for
	// twice as long before it signs.
	keysAge = 5 * time.Minute
	// unknownPause is the least time between two fetches for keys that are not known.
	unknownPause = time.Minute
)

// keySource verifies with keys that it fetches from Sluice, and goes on with those it has while that is away.
type keySource struct {
	service *service
	cache   *Cache

	verifier atomic.Pointer[Verifier]
	staleAt  atomic.Int64 // Unix nanoseconds

	mu    sync.Mutex // held while a fetch is under way
	asked time.Time  // the last fetch that was tried
}

// verify is Verifier.Verify, or, with the item "", Verifier.VerifyAny. Without any keys, and none to be had, the pass is one of an unknown key.
func (s *keySource) verify(ctx context.Context, token, item string) (Claims, error) {
	now := s.service.o.Now()
	v := s.verifier.Load()
	if v == nil {
		if v = s.fetch(ctx, 0); v == nil {
			return Claims{}, ErrUnknownKey
		}
	} else if at := s.staleAt.Load(); now.UnixNano() > at && s.staleAt.CompareAndSwap(at, now.Add(keysAge).UnixNano()) {
		go s.fetch(context.WithoutCancel(ctx), 0)
	}
	verify := func(v *Verifier) (Claims, error) {
		if item == "" {
			return v.VerifyAny(token)
		}
		return v.Verify(token, item)
	}
	c, err := verify(v)
	if errors.Is(err, ErrUnknownKey) {
		if newer := s.fetch(ctx, unknownPause); newer != nil && newer != v {
			return verify(newer)
		}
	}
	return c, err
}

// fetch takes the keys from Sluice, unless that was tried less than pause ago, and gives a verifier with the keys that
// there are by then; nil = none.
func (s *keySource) fetch(ctx context.Context, pause time.Duration) *Verifier {
	before := s.verifier.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.service.o.Now()
	if v := s.verifier.Load(); v != before || pause > 0 && now.Sub(s.asked) < pause {
		return v
	}
	s.asked = now
	body, err := s.service.get(ctx, "/.well-known/jwks.json")
	if err != nil {
		return s.verifier.Load()
	}
	keys, err := ParseJWKS(body)
	if err != nil {
		s.service.o.Log.Error("the keys of Sluice cannot be read", "error", err)
		return s.verifier.Load()
	}
	s.service.counts.add(KeysFetched)
	v := &Verifier{Keys: keys, Issuer: s.service.o.Service, Now: s.service.o.Now, Cache: s.cache}
	s.verifier.Store(v)
	s.staleAt.Store(now.Add(keysAge).UnixNano())
	return v
}
