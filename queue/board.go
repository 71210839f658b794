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

	headers sync.Map // Item -> *atomic.Pointer[Header]
	on      atomic.Int64
}

// Get gives the newest header known of an item; the zero Header (off, generation 0) where none is.
func (b *Board) Get(item Item) Header {
	if v, ok := b.headers.Load(item); ok {
		return *v.(*atomic.Pointer[Header]).Load()
	}
	return Header{Item: item}
}

// Put takes over a header if it is newer than the one known, and reports whether it was.
func (b *Board) Put(h Header) bool {
	fresh := &atomic.Pointer[Header]{}
	fresh.Store(&h)
	v, loaded := b.headers.LoadOrStore(h.Item, fresh)
	if !loaded {
		b.took(Header{Item: h.Item}, h)
		return true
	}
	p := v.(*atomic.Pointer[Header])
	for {
		old := p.Load()
		if !h.Newer(*old) {
			return false
		}
		if p.CompareAndSwap(old, &h) {
			b.took(*old, h)
			return true
		}
	}
}

func (b *Board) took(old, now Header) {
	switch {
	case now.On() && !old.On():
		b.on.Add(1)
	case old.On() && !now.On():
		b.on.Add(-1)
	}
	if b.Changed != nil {
		b.Changed(old, now)
	}
}

// On is how many queues are on.
func (b *Board) On() int64 { return b.on.Load() }

// All lists the headers known, those of queues that are off included, in no order.
func (b *Board) All() []Header {
	var all []Header
	b.headers.Range(func(_, v any) bool {
		all = append(all, *v.(*atomic.Pointer[Header]).Load())
		return true
	})
	return all
}

// Forget drops what is known of an item whose queue is off, so that items of the past take no memory.
func (b *Board) Forget(item Item) {
	if v, ok := b.headers.Load(item); ok && !v.(*atomic.Pointer[Header]).Load().On() {
		b.headers.CompareAndDelete(item, v)
	}
}
