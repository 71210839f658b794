package settings

import (
	"sync"
	"sync/atomic"
)

// Holder holds the settings in force on this node. Reading takes no lock. The zero value holds the defaults and is
// ready.
type Holder struct {
	now atomic.Pointer[Settings]

	mu       sync.Mutex // orders Put and the calls of onChange
	onChange []func(*Settings)
}

var unknown = New(Data{})

// Now gives the settings in force, never nil: before the first Put they are the program's defaults, and not Known.
func (h *Holder) Now() *Settings {
	if s := h.now.Load(); s != nil {
		return s
	}
	return unknown
}

// Put brings settings into force if they are newer than those there, and reports whether they were.
func (h *Holder) Put(s *Settings) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.Version() <= h.Now().Version() {
		return false
	}
	h.now.Store(s)
	for _, f := range h.onChange {
		f(s)
	}
	return true
}

// OnChange has f called after each change, one call at a time, in order of versions; and at once where settings are
// known already. f must not call Put.
func (h *Holder) OnChange(f func(*Settings)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.onChange = append(h.onChange, f)
	if s := h.Now(); s.Known() {
		f(s)
	}
}
