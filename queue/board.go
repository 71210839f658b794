package queue

import (
	"sync"
	"sync/atomic"
)

// Board is what one node knows of all queues: the newest header of each. Reads take no lock. The zero value is empty
// and ready.
type Board struct {
	// Changed, where set before the first use, is told of each header taken over and the one it replaced. It must not
	// block, and may be called by several goroutines at once.
	Changed func(old, now Header)

	mu      sync.Mutex // one writer at a time
	headers sync.Map   // Item -> *Header
	on      atomic.Int64
}

// Get gives the newest header known of an item; the zero Header (off, generation 0) where none is.
func (b *Board) Get(item Item) Header {
	if v, ok := b.headers.Load(item); ok {
		return *v.(*Header)
	}
	return Header{Item: item}
}

// Put takes over a header if it is newer than the one known, and reports whether it was.
func (b *Board) Put(h Header) bool {
	if v, ok := b.headers.Load(h.Item); ok && !h.Newer(*v.(*Header)) {
		return false // of most answers, on the way of every poll
	}
	b.mu.Lock()
	old := Header{Item: h.Item}
	if v, ok := b.headers.Load(h.Item); ok {
		if old = *v.(*Header); !h.Newer(old) {
			b.mu.Unlock()
			return false
		}
	}
	kept := h // so that one that is not taken over costs no memory
	b.headers.Store(h.Item, &kept)
	switch {
	case h.On() && !old.On():
		b.on.Add(1)
	case old.On() && !h.On():
		b.on.Add(-1)
	}
	b.mu.Unlock()
	if b.Changed != nil {
		b.Changed(old, h)
	}
	return true
}

// On is how many queues are on.
func (b *Board) On() int64 { return b.on.Load() }

// All lists the headers known, those of queues that are off included, in no order.
func (b *Board) All() []Header {
	var all []Header
	b.headers.Range(func(_, v any) bool {
		all = append(all, *v.(*Header))
		return true
	})
	return all
}

// Forget drops what is known of an item whose queue is off, so that items of the past take no memory.
func (b *Board) Forget(item Item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.Get(item).On() {
		b.headers.Delete(item)
	}
}
