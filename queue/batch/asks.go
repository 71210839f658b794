// Package batch gathers what many requests want of one line into few calls of it.
package batch

import (
	"context"
	"hash/maphash"
	"sync"
	"time"

	"github.com/sluicehq/sluice/queue"
)

// mostAsks is the most asks of one call: about half a millisecond of the store's time, and less than two where the processor's caches
// hold nothing of a long line.
const mostAsks = 100

// asker is the part of a line that Asks needs.
type asker interface {
	Ask(ctx context.Context, item queue.Item, asks []queue.Ask) (queue.Answers, error)
}

// Reply is what one ask came to, with what the call learned of the queue.
type Reply struct {
	Header queue.Header
	Counts queue.Counts
	NowMS  int64
	Answer queue.Answer
}

// Asks turns the asks of many requests into one call an item at a time: whatever comes in while a call of the item is
// under way is the next call. Nothing waits for company, so a lone ask is as fast as a plain call.
type Asks struct {
	line    asker
	timeout time.Duration
	seed    maphash.Seed
	shards  [64]shard
}

type shard struct {
	mu    sync.Mutex
	items map[queue.Item]*group
}

// group holds the asks of one item that wait for the call under way; it is in the map as long as a call is.
type group struct{ next []*call }

type call struct {
	ask   queue.Ask
	reply Reply
	err   error
	done  chan struct{}
}

// NewAsks returns a batcher of the line's asks. A call of the line that takes longer than timeout is given up.
func NewAsks(line asker, timeout time.Duration) *Asks {
	a := &Asks{line: line, timeout: timeout, seed: maphash.MakeSeed()}
	for i := range a.shards {
		a.shards[i].items = map[queue.Item]*group{}
	}
	return a
}

// Ask asks the line, together with others who ask of the same item, and waits for the reply or the end of ctx. An ask
// whose context has ended may take effect all the same: asking again is harmless.
func (a *Asks) Ask(ctx context.Context, item queue.Item, ask queue.Ask) (Reply, error) {
	c := &call{ask: ask, done: make(chan struct{})}
	s := &a.shards[maphash.String(a.seed, string(item))%uint64(len(a.shards))]
	s.mu.Lock()
	if g, busy := s.items[item]; busy {
		g.next = append(g.next, c)
		s.mu.Unlock()
	} else {
		s.items[item] = &group{}
		s.mu.Unlock()
		// In a goroutine of its own, so that a caller who goes away takes no one else's answer along.
		go a.run(s, item, []*call{c})
	}
	select {
	case <-c.done:
		return c.reply, c.err
	case <-ctx.Done():
		return Reply{}, queue.ErrStoreDown.Because(ctx.Err())
	}
}

// run makes calls for the item until nobody asks any more.
func (a *Asks) run(s *shard, item queue.Item, calls []*call) {
	for len(calls) > 0 {
		a.call(item, calls)
		s.mu.Lock()
		g := s.items[item]
		n := min(len(g.next), mostAsks)
		calls, g.next = g.next[:n:n], g.next[n:]
		if n == 0 {
			delete(s.items, item)
		}
		s.mu.Unlock()
	}
}

func (a *Asks) call(item queue.Item, calls []*call) {
	ctx, cancel := context.WithTimeout(context.Background(), a.timeout)
	defer cancel()
	asks := make([]queue.Ask, len(calls))
	for i, c := range calls {
		asks[i] = c.ask
	}
	got, err := a.line.Ask(ctx, item, asks)
	for i, c := range calls {
		if err != nil {
			c.err = err
		} else {
			c.reply = Reply{Header: got.Header, Counts: got.Counts, NowMS: got.NowMS, Answer: got.Answers[i]}
		}
		close(c.done)
	}
}
