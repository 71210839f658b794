package gate

import (
	"sync"
	"time"

	"github.com/sluicehq/sluice/queue"
)

// mostByGlob is how many queues the mode of one glob turns on at once: made-up item ids must not fill the store.
const mostByGlob = 10_000

// recountEvery is how old the count of the queues of globs may be. Meanwhile this node adds its own.
const recountEvery = time.Second

// globs counts the queues that the mode of each glob has turned on. It looks at them only where there are so many that
// a glob can have its share.
type globs struct {
	mu      sync.Mutex
	counted time.Time
	on      map[queue.Pattern]int
}

// take reports whether the mode of this glob may turn on one more queue, and counts it.
func (g *globs) take(glob queue.Pattern, board *queue.Board, policies *queue.Policies, now time.Time) bool {
	if board.On() < mostByGlob {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.on == nil || now.Sub(g.counted) >= recountEvery || now.Before(g.counted) {
		g.counted, g.on = now, map[queue.Pattern]int{}
		for _, h := range board.All() {
			if h.On() && h.Cause == queue.ByMode {
				g.on[policies.Rule(h.Item).Pattern]++
			}
		}
	}
	if g.on[glob] >= mostByGlob {
		return false
	}
	g.on[glob]++
	return true
}
