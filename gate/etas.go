package gate

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/queue"
)

// etas remembers what some of those in line were told when they joined, so that it can be compared with what came: those
// who join and claim at this node, and no more than mostEtas at a time. Who leaves is forgotten; who has fallen silent or
// stood in a line that is over, once the room is needed.
type etas struct {
	mu      sync.Mutex
	all     map[etaKey]*etaTold
	some    atomic.Bool // whether all holds anybody: most nodes at most times remember nobody
	sweptMS int64
}

type etaKey struct {
	item    queue.Item
	visitor queue.Visitor
}

type etaTold struct {
	wait       time.Duration
	joinedMS   int64
	generation queue.Generation
	heardMS    int64 // when the visitor last asked this node
	abandonMS  int64 // the line drops who is silent for longer
}

const (
	mostEtas = 4096
	// etaFor is how long one is remembered who still asks: who has not come by then waits far longer than told.
	etaFor = 6 * time.Hour
	// A wait shorter than that is over at the next tick, and says nothing of an estimate.
	leastEta = 5 * time.Second
	// etaSweep is the least time between two looks at all that are remembered.
	etaSweep = time.Second
)

// told remembers what one who joined was told. current gives the generation that an item is in.
func (e *etas) told(item queue.Item, v queue.Visitor, t etaTold, current func(queue.Item) queue.Generation) {
	if t.wait < leastEta {
		return
	}
	t.heardMS = t.joinedMS
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.all) >= mostEtas {
		e.sweep(t.joinedMS, current)
		if len(e.all) >= mostEtas {
			return
		}
	}
	if e.all == nil {
		e.all = map[etaKey]*etaTold{}
	}
	e.all[etaKey{queue.Item(strings.Clone(string(item))), queue.Visitor(strings.Clone(string(v)))}] = &t
	e.some.Store(true)
}

// sweep forgets those who cannot be let in any more: their line is over, or has dropped them. Visitors whose polls other
// nodes have answered may be among them, which costs a measurement and nothing else.
func (e *etas) sweep(nowMS int64, current func(queue.Item) queue.Generation) {
	if nowMS-e.sweptMS < etaSweep.Milliseconds() {
		return
	}
	e.sweptMS = nowMS
	for k, t := range e.all {
		if t.generation != current(k.item) || nowMS-t.heardMS > t.abandonMS || nowMS-t.joinedMS > etaFor.Milliseconds() {
			delete(e.all, k)
		}
	}
}

// heard takes note that one in line has asked.
func (e *etas) heard(item queue.Item, v queue.Visitor, nowMS int64) {
	if !e.some.Load() {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if t, ok := e.all[etaKey{item, v}]; ok {
		t.heardMS = nowMS
	}
}

// forget drops one who has left.
func (e *etas) forget(item queue.Item, v queue.Visitor) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.drop(etaKey{item, v})
}

func (e *etas) drop(k etaKey) {
	delete(e.all, k)
	e.some.Store(len(e.all) > 0)
}

// letIn gives what one who was let in had been told, and how long it was; once.
func (e *etas) letIn(item queue.Item, v queue.Visitor, admittedMS int64) (told, took time.Duration, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t, ok := e.all[etaKey{item, v}]
	if !ok {
		return 0, 0, false
	}
	e.drop(etaKey{item, v})
	took = time.Duration(admittedMS-t.joinedMS) * time.Millisecond
	return t.wait, took, took > 0
}
