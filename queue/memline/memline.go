// Package memline is the line in this process: the store of a single node, the engine of replay, and the model with
// which the property tests compare Redis. It keeps docs/line.md to the letter and holds nothing on disk: what outlives
// a restart is in tickets, passes and the headers that nodes remember (Switch with queue.Restore).
package memline

import (
	"hash/maphash"
	"math/rand/v2"
	"sync"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/queue"
)

// keepOffMS is how long the header of a queue that is off stays, so that every node learns of it.
const keepOffMS = 600_000

// Options configures a Line. The zero value is ready for use.
type Options struct {
	Clock clock.Clock // nil = the system's
	// Epoch gives the epoch of a queue that turns on or was restored; nil = a random one. 1 to 2^53.
	Epoch func() int64
	// Traffic measures an item: requests in the window of its trigger, newcomers a minute, active users. Called while
	// the item is locked, so it must not call the line. nil = no traffic at all.
	Traffic func(item queue.Item, nowMS int64) (requests, newcomersPerMinute, active float64)
	// Punctual says that steps come at the very instant at which something is due (replay). Then the bucket holds one
	// second's worth, at least one person; with a mover's ticks, which come late, it holds one person more.
	Punctual bool
}

// Line keeps the lines of all items. Its methods are safe for use by many goroutines; calls of one item wait for one
// another, those of different items do not. No call blocks on anything else, so contexts are not looked at.
type Line struct {
	clock   clock.Clock
	epoch   func() int64
	traffic func(queue.Item, int64) (requests, newcomers, active float64)
	spare   float64 // what the bucket holds beyond one second's worth
	seed    maphash.Seed
	shards  [64]shard
}

// shard is a part of the items. Nobody locks an item while holding a shard.
type shard struct {
	mu    sync.RWMutex
	items map[queue.Item]*item
}

// New makes a Line in which nothing is kept.
func New(o Options) *Line {
	l := &Line{clock: o.Clock, epoch: o.Epoch, traffic: o.Traffic, spare: 1, seed: maphash.MakeSeed()}
	if o.Punctual {
		l.spare = 0
	}
	if l.clock == nil {
		l.clock = clock.System{}
	}
	if l.epoch == nil {
		l.epoch = func() int64 { return 1 + rand.Int64N(1<<53-1) }
	}
	for i := range l.shards {
		l.shards[i].items = map[queue.Item]*item{}
	}
	return l
}

// instant is one reading of the clock.
type instant struct{ us, ms int64 }

func (l *Line) now() instant {
	t := l.clock.Now()
	return instant{us: t.UnixMicro(), ms: t.UnixMilli()}
}

// wholeSecond rounds down to the second, as the times in passes are.
func wholeSecond(ms int64) int64 { return ms - ms%1000 }

// Items lists the items of which something is kept, in no order: those with a queue, and for ten minutes those that had one.
func (l *Line) Items() []queue.Item {
	var all []queue.Item
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.RLock()
		for id := range s.items {
			all = append(all, id)
		}
		s.mu.RUnlock()
	}
	return all
}

// Sweep forgets the items that have been off for ten minutes, so that memory returns to where it was also when nobody
// steps them any more. It reports how many it has forgotten. Call it every minute or so.
func (l *Line) Sweep() int {
	forgotten := 0
	for _, id := range l.Items() {
		it := l.lock(id)
		if it == nil {
			continue
		}
		if l.forgetOld(it, l.now()) {
			forgotten++
		}
		it.mu.Unlock()
	}
	return forgotten
}

// forgetOld lets go of an item, locked by the caller, that has been off for long enough.
func (l *Line) forgetOld(it *item, now instant) bool {
	keep := int64(keepOffMS)
	if it.marks.any() { // passes outlive the queue, and so must the knowledge of those that have ended
		keep = max(keep, it.limits.SessionMS+queue.PassLeewayMS)
	}
	if it.header.On() || now.ms-it.offSince < keep {
		return false
	}
	if l.rearm(it, now); it.disarmed {
		return false
	}
	l.forget(it)
	return true
}

// forget lets go of an item that the caller has locked.
func (l *Line) forget(it *item) {
	it.gone = true
	s := l.shard(it.header.Item)
	s.mu.Lock()
	delete(s.items, it.header.Item)
	s.mu.Unlock()
}

func (l *Line) shard(id queue.Item) *shard {
	return &l.shards[maphash.String(l.seed, string(id))%uint64(len(l.shards))]
}

// lock gives the item, locked; nil where nothing is kept of it.
func (l *Line) lock(id queue.Item) *item {
	s := l.shard(id)
	for {
		s.mu.RLock()
		it := s.items[id]
		s.mu.RUnlock()
		if it == nil {
			return nil
		}
		it.mu.Lock()
		if !it.gone {
			return it
		}
		it.mu.Unlock() // forgotten between the two locks: there may be a new one by now
	}
}

// lockOrMake gives the item, locked; a new one, that is off and has no generation, where nothing is kept of it.
func (l *Line) lockOrMake(id queue.Item) *item {
	s := l.shard(id)
	for {
		s.mu.Lock()
		it := s.items[id]
		if it == nil {
			it = &item{header: queue.Header{Item: id}, spare: l.spare}
			s.items[id] = it
		}
		s.mu.Unlock()
		it.mu.Lock()
		if !it.gone {
			return it
		}
		it.mu.Unlock()
	}
}
