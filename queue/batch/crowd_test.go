package batch

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
)

// quickLine answers at once, and notes calls of one item at the same time.
type quickLine struct {
	mu   sync.Mutex
	busy map[queue.Item]bool
	bad  []string
	asks int
}

func (l *quickLine) Ask(_ context.Context, item queue.Item, asks []queue.Ask) (queue.Answers, error) {
	l.mu.Lock()
	if l.busy[item] || len(asks) > mostAsks {
		l.bad = append(l.bad, fmt.Sprintf("%s: a call of %d, another under way %v", item, len(asks), l.busy[item]))
	}
	l.busy[item] = true
	l.asks += len(asks)
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.busy[item] = false
		l.mu.Unlock()
	}()
	return answers(item, 1, asks), nil
}

func TestEverybodyGetsTheirOwnAnswer(t *testing.T) {
	t.Parallel()
	line := &quickLine{busy: map[queue.Item]bool{}}
	a := NewAsks(line, time.Minute)
	const people, times = 300, 30
	var wg sync.WaitGroup
	for i := range people {
		wg.Go(func() {
			for k := range times {
				item := queue.Item(fmt.Sprintf("sku-%d", (i+k)%5))
				r, err := a.Ask(t.Context(), item, queue.Ask{Visitor: visitor(i)})
				if err != nil || r.Answer.Score != int64(i) || r.Header.Item != item {
					t.Errorf("visitor %d at %s: %+v, %v", i, item, r, err)
				}
			}
		})
	}
	wg.Wait()
	if line.asks != people*times {
		t.Errorf("%d asks reached the line, want %d", line.asks, people*times)
	}
	for _, b := range line.bad {
		t.Error(b)
	}
}
