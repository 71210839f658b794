// Package recent remembers what was noted lately, bounded in number and in time, without a list to keep in order.
package recent

import (
	"sync"
	"time"
)

// Map keeps two generations: what is put goes into the young one; when that is full, or old enough, it becomes the old
// one, and the old one is forgotten. It is safe for use by many goroutines.
type Map[K comparable, V any] struct {
	most int           // in each generation
	keep time.Duration // the least time for which an entry is kept, as long as there is room
	now  func() time.Time

	mu         sync.RWMutex
	young, old generation[K, V]
}

type generation[K comparable, V any] struct {
	entries map[K]V
	turns   time.Time // when it may become the old one
	until   time.Time // until when it is needed
}

// New makes a Map that keeps an entry for keep to about 2 × keep, and at most 2 × most of them.
func New[K comparable, V any](most int, keep time.Duration) *Map[K, V] {
	return NewStaggered[K, V](most, keep, 1)
}

// NewStaggered is New for one of several maps that are to forget one after the other and not all at once: part, over 0 to
// 1, is how much of keep its first generation lasts.
func NewStaggered[K comparable, V any](most int, keep time.Duration, part float64) *Map[K, V] {
	m := &Map[K, V]{most: most, keep: keep, now: time.Now}
	m.young.turns = m.now().Add(time.Duration(part * float64(keep)))
	return m
}

// Put notes an entry.
func (m *Map[K, V]) Put(k K, v V) { m.PutFor(k, v, m.keep) }

// PutFor is Put of one that is needed for longer than the others may be.
func (m *Map[K, V]) PutFor(k K, v V, life time.Duration) {
	m.Change(k, life, func(V) V { return v })
}

// Change is PutFor of what f makes of the entry so far, or of the zero value where none is remembered. f must not call m.
func (m *Map[K, V]) Change(k K, life time.Duration, f func(V) V) {
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.young.entries[k]
	if !ok {
		v = m.old.entries[k]
	}
	if full := len(m.young.entries) >= m.most; full || !now.Before(m.young.turns) && !now.Before(m.old.until) {
		turns := m.young.turns.Add(m.keep)
		if full || turns.Before(now) {
			turns = now.Add(m.keep)
		}
		m.old, m.young = m.young, generation[K, V]{turns: turns}
	}
	if m.young.entries == nil {
		m.young.entries = map[K]V{}
	}
	m.young.entries[k] = f(v)
	if until := now.Add(max(life, m.keep)); until.After(m.young.until) {
		m.young.until = until
	}
}

// Get gives an entry, if it is remembered.
func (m *Map[K, V]) Get(k K) (V, bool) {
	v, _, ok := m.look(k)
	return v, ok
}

// Renewed is Get that keeps what it finds as if it were put now.
func (m *Map[K, V]) Renewed(k K) (V, bool) {
	v, old, ok := m.look(k)
	if old {
		m.Put(k, v)
	}
	return v, ok
}

func (m *Map[K, V]) look(k K) (v V, old, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if v, ok = m.young.entries[k]; ok {
		return v, false, true
	}
	v, ok = m.old.entries[k]
	return v, ok, ok
}

// Take gives an entry to one caller alone, and forgets it.
func (m *Map[K, V]) Take(k K) (V, bool) {
	if v, ok := m.Get(k); !ok {
		return v, false // of nearly every call: many look at once
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.young.entries[k]
	if !ok {
		v, ok = m.old.entries[k]
	}
	delete(m.young.entries, k)
	delete(m.old.entries, k)
	return v, ok
}

// All calls f with each entry. f must not call m.
func (m *Map[K, V]) All(f func(K, V)) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for k, v := range m.young.entries {
		f(k, v)
	}
	for k, v := range m.old.entries {
		if _, newer := m.young.entries[k]; !newer {
			f(k, v)
		}
	}
}

// Len is how many entries are remembered; one that was put again counts twice for a while.
func (m *Map[K, V]) Len() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.young.entries) + len(m.old.entries)
}
