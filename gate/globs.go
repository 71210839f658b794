package gate

import (
	"sync"
	"time"

	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/queue"
)

// mostByGlob is how many queues the mode, or a sale, of one glob turns on at once: made-up item ids must not fill the store.
const mostByGlob = 10_000

// recountEvery is how old the count of the queues of globs may be. Meanwhile this node adds its own.
const recountEvery = time.Second

// globs counts the queues that the mode, or a sale, of each glob has turned on. It looks at them only where there are so many that
// a glob can have its share.
type globs struct {
	mu      sync.Mutex
	counted time.Time
	on      map[queue.Pattern]int
}

// take reports whether the mode, or a sale, of this glob may turn on one more queue, and counts it.
func (g *globs) take(glob queue.Pattern, board *queue.Board, s *settings.Settings, now time.Time, ms int64) bool {
	if board.On() < mostByGlob {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.on == nil || now.Sub(g.counted) >= recountEvery || now.Before(g.counted) {
		g.counted, g.on = now, map[queue.Pattern]int{}
		for _, h := range board.All() {
			switch {
			case !h.On():
			case h.Cause == queue.ByMode:
				g.on[s.Rule(h.Item).Pattern]++
			case h.Cause == queue.BySale:
				if a := s.Sales().On(h.Item, ms); a != nil {
					g.on[a.Item]++
				}
			}
		}
	}
	if g.on[glob] >= mostByGlob {
		return false
	}
	g.on[glob]++
	return true
}
