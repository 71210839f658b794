package scheduler

import (
	"container/heap"
	"sync"
	"time"

	"github.com/sluicehq/sluice/queue"
)

// setBack is how far a clock may be behind what it said before; by more it has been set back.
const setBack = time.Second

// agenda knows when each item is to be stepped next.
type agenda struct {
	mu      sync.Mutex
	entries entries
	of      map[queue.Item]*entry
	taken   time.Time // when it was last looked at
}

type entry struct {
	item  queue.Item
	due   time.Time
	index int
}

func newAgenda() *agenda { return &agenda{of: map[queue.Item]*entry{}} }

// put sets when an item is due; an item that is due sooner already stays so where sooner is true.
func (a *agenda) put(item queue.Item, due time.Time, sooner bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e := a.of[item]
	switch {
	case e == nil:
		e = &entry{item: item, due: due}
		a.of[item] = e
		heap.Push(&a.entries, e)
	case !sooner || due.Before(e.due):
		e.due = due
		heap.Fix(&a.entries, e.index)
	}
}

// drop takes an item off.
func (a *agenda) drop(item queue.Item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e := a.of[item]; e != nil {
		heap.Remove(&a.entries, e.index)
		delete(a.of, item)
	}
}

// take gives the items that are due, with when they were, and makes each due again after a time, so that an item whose
// step is lost comes again. By a clock that has been set back all are due: nobody waits until it reads again what it read.
func (a *agenda) take(now time.Time, again time.Duration) (items []queue.Item, dues []time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.taken.Sub(now) > setBack {
		for _, e := range a.entries {
			e.due = now
		}
	}
	a.taken = now
	for len(a.entries) > 0 && !a.entries[0].due.After(now) {
		e := a.entries[0]
		items, dues = append(items, e.item), append(dues, e.due)
		e.due = now.Add(again)
		heap.Fix(&a.entries, 0)
	}
	return items, dues
}

// entries is a heap by due time.
type entries []*entry

func (h entries) Len() int           { return len(h) }
func (h entries) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h entries) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push adds an entry (container/heap).
func (h *entries) Push(x any) {
	e := x.(*entry)
	e.index = len(*h)
	*h = append(*h, e)
}

// Pop takes the last entry off (container/heap).
func (h *entries) Pop() any {
	old := *h
	e := old[len(old)-1]
	*h = old[:len(old)-1]
	return e
}
