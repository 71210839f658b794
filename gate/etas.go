package gate

import (
	"strings"
	"sync"
	"time"

	"github.com/sluicehq/sluice/queue"
)

// etas remembers what some of those in line were told when they joined, so that it can be compared with what came: those
// who join and claim at this node, and no more than mostEtas at a time.
type etas struct {
	mu  sync.Mutex
	all map[etaKey]etaTold
}

type etaKey struct {
	item    queue.Item
	visitor queue.Visitor
}

type etaTold struct {
	wait     time.Duration
	joinedMS int64
}

const (
	mostEtas = 4096
	// etaFor is how long one is remembered: who has not come by then has given up, or waits far longer than told.
	etaFor = 6 * time.Hour
	// A wait shorter than that is over at the next tick, and says nothing of an estimate.
	leastEta = 5 * time.Second
)

// told remembers what one who joined was told.
func (e *etas) told(item queue.Item, v queue.Visitor, wait time.Duration, nowMS int64) {
	if wait < leastEta {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.all) >= mostEtas {
		for k, t := range e.all {
			if nowMS-t.joinedMS > etaFor.Milliseconds() {
				delete(e.all, k)
			}
			break // one look a time: in the long run all that are old go
		}
		if len(e.all) >= mostEtas {
			return
		}
	}
	if e.all == nil {
		e.all = map[etaKey]etaTold{}
	}
	e.all[etaKey{queue.Item(strings.Clone(string(item))), queue.Visitor(strings.Clone(string(v)))}] = etaTold{wait, nowMS}
}

// letIn gives what one who was let in had been told, and how long it was; once.
func (e *etas) letIn(item queue.Item, v queue.Visitor, admittedMS int64) (told, took time.Duration, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t, ok := e.all[etaKey{item, v}]
	if !ok {
		return 0, 0, false
	}
	delete(e.all, etaKey{item, v})
	took = time.Duration(admittedMS-t.joinedMS) * time.Millisecond
	return t.wait, took, took > 0
}
