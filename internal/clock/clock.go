// Package clock gives the time: the machine's, the store's (the machine's and a measured offset), or one held in hand.
package clock

import (
	"sync"
	"sync/atomic"
	"time"
)

// Clock tells the time. Implementations are safe for use by many goroutines.
type Clock interface{ Now() time.Time }

// System is the machine's clock.
type System struct{}

// Now gives the machine's time.
func (System) Now() time.Time { return time.Now() }

// Store is the store's clock as this node knows it: a base clock and the offset last seen. The zero value follows the
// machine's clock.
type Store struct {
	Base   Clock // nil = System
	offset atomic.Int64
}

// Now gives the store's time by the last known offset.
func (s *Store) Now() time.Time { return s.Machine().Add(time.Duration(s.offset.Load())) }

// Machine gives this machine's time.
func (s *Store) Machine() time.Time {
	if s.Base == nil {
		return time.Now()
	}
	return s.Base.Now()
}

// Saw notes that the store's clock read ms (unix milliseconds) at some instant between sent and now, both by the base
// clock. A difference that the time of the call can explain changes nothing.
func (s *Store) Saw(ms int64, sent time.Time) {
	now := s.Machine()
	read := time.UnixMilli(ms)
	offset := time.Duration(s.offset.Load())
	if lo, hi := sent.Add(offset-time.Millisecond), now.Add(offset+time.Millisecond); !read.Before(lo) && !read.After(hi) {
		return
	}
	s.offset.Store(int64(read.Sub(sent.Add(now.Sub(sent) / 2))))
}

// Skew is how far the store's clock is ahead of the machine's; negative = behind.
func (s *Store) Skew() time.Duration { return time.Duration(s.offset.Load()) }

// Hand is a clock that moves only when told to. The zero value stands at the zero time.
type Hand struct {
	mu  sync.Mutex
	now time.Time
}

// At returns a Hand that stands at t.
func At(t time.Time) *Hand { return &Hand{now: t} }

// Now gives the time set.
func (h *Hand) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

// Add moves the clock by d, also back.
func (h *Hand) Add(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// Set moves the clock to t.
func (h *Hand) Set(t time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = t
}
