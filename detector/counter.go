package detector

import (
	"hash/maphash"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sluicehq/sluice/queue"
)

// The bounds of a Counter. Made-up item ids must not make a node grow, so at most shardCount × namesPerShard items have
// a count of their own; the others share nameless counters until they prove busy.
const (
	shardCount       = 64
	namesPerShard    = 512
	namelessPerShard = 1024
	// visitorsPerItem bounds the active visitors that wait for a flush at one item, visitorsInAll at all of them.
	visitorsPerItem = 4096
	visitorsInAll   = 200_000
)

// Needs is what the policy of an item asks of its count.
type Needs struct {
	Trigger   queue.Trigger
	MaxActive int64 // the policy's limit on active users, 0 = none: some are inside at activation
	SessionMS int64 // how long a visitor counts as active
}

// active is the number of active users that matters first, 0 where they are not counted.
func (n *Needs) active() int64 {
	switch t := n.Trigger.ActiveUsers; {
	case t == 0:
		return n.MaxActive
	case n.MaxActive == 0:
		return t
	default:
		return min(t, n.MaxActive)
	}
}

// Counter counts the traffic of one node, in process and for every request: sharded, bounded, about 100 ns a call and
// without allocation once an item is known. What it has counted waits for a Flusher. Make one with NewCounter; safe
// for concurrent use.
type Counter struct {
	seed     maphash.Seed
	shards   [shardCount]shard
	wake     chan struct{} // holds one: something is to be flushed at once
	nodes    atomic.Int64  // live nodes: this node's part of what is left up to a trigger
	visitors atomic.Int64  // active visitors pending at all items
	dropped  atomic.Int64
	told     [measures]quota
}

type shard struct {
	mu       sync.Mutex
	items    map[queue.Item]*entry
	entries  []*entry // the same, to choose victims from
	hand     int
	nameless [namelessPerShard]uint32 // requests of items without a name; halved each second
	hot      []*entry                 // close to a trigger, or urgent
	_        [64]byte                 // the locks of two shards share no cache line
}

// entry is what a node keeps of one item.
type entry struct {
	item    queue.Item
	index   int // in shard.entries
	trigger queue.Trigger

	window   Window // this node's own requests
	arrivals Window // this node's own newcomers

	requests  pending
	newcomers pending
	active    map[queue.Visitor]struct{}

	activeLimit int64 // the trigger for active users or the limit on them, whichever is lower
	sessionMS   int64
	activeMS    int64           // when the newest of active came
	toldMS      [measures]int64 // until when the store keeps what was told of a measure; 0 = it has nothing from here

	shared   Measures // of all nodes, as of the last flush
	on       bool     // the queue was on at the last flush
	hot      bool     // in shard.hot
	urgent   bool     // to be flushed at once
	noTripMS int64    // until then a trip was refused, and asking again is no use
}

// pending are counts that no flush has taken yet, in the sub-buckets of the item's window.
type pending struct {
	buckets []stamped
	sum     int64
	wakeAt  int64 // the sum at which waiting for the next flush could mean a late trip
}

type stamped struct{ atMS, n int64 }

func (p *pending) add(ms, bucketMS int64) {
	p.sum++
	if last := len(p.buckets) - 1; last >= 0 {
		// The bucket keeps the stamp of its last event, which is within the same sub-bucket.
		if b := &p.buckets[last]; ceilDiv(b.atMS, bucketMS) == ceilDiv(ms, bucketMS) {
			b.atMS = max(b.atMS, ms)
			b.n++
			return
		}
	}
	p.buckets = append(p.buckets, stamped{ms, 1})
}

// NewCounter gives an empty Counter.
func NewCounter() *Counter {
	c := &Counter{seed: maphash.MakeSeed(), wake: make(chan struct{}, 1)}
	c.nodes.Store(1)
	for i := range c.shards {
		c.shards[i].items = map[queue.Item]*entry{}
	}
	return c
}

// Count counts one request of a visitor at an item. newcomer says that the visitor carries no mark of an earlier pass.
// It reports whether this node's own counts alone reach a trigger, this request included: the caller then asks
// Flusher.Trip if it does not know the queue to be on.
func (c *Counter) Count(item queue.Item, visitor queue.Visitor, newcomer bool, needs Needs, nowMS int64) (trip bool) {
	h := maphash.String(c.seed, string(item))
	s := &c.shards[h%shardCount]
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.items[item]
	if e == nil {
		if e = c.name(s, item, h); e == nil {
			c.dropped.Add(1)
			return false
		}
	}
	if e.trigger != needs.Trigger {
		e.retune(needs.Trigger, c.nodes.Load())
	}
	e.window.Add(nowMS, 1)
	e.requests.add(nowMS, e.window.bucketMS)
	own := Measures{Requests: e.window.Sum(nowMS)}
	if newcomer && needs.Trigger.NewVisitorsPerMinute > 0 {
		e.arrivals.Add(nowMS, 1)
		e.newcomers.add(nowMS, e.arrivals.bucketMS)
		own.Newcomers = e.arrivals.Sum(nowMS)
	}
	if limit := needs.active(); limit > 0 {
		e.activeLimit, e.sessionMS = limit, needs.SessionMS
		c.countActive(e, visitor, nowMS)
	}
	if !e.urgent && (e.requests.sum >= e.requests.wakeAt || e.newcomers.sum >= e.newcomers.wakeAt || len(e.active) == visitorsPerItem) {
		e.urgent = true
		s.heat(e)
		c.rouse()
	}
	_, trip = Decide(needs.Trigger, own)
	return trip && nowMS >= e.noTripMS
}

// Dropped is how many counts were lost to the bounds since the start.
func (c *Counter) Dropped() int64 { return c.dropped.Load() }

func (c *Counter) countActive(e *entry, v queue.Visitor, nowMS int64) {
	e.activeMS = nowMS
	if _, known := e.active[v]; known {
		return
	}
	if len(e.active) >= visitorsPerItem || c.visitors.Load() >= visitorsInAll {
		c.dropped.Add(1)
		return
	}
	if e.active == nil {
		e.active = map[queue.Visitor]struct{}{}
	}
	e.active[v] = struct{}{}
	c.visitors.Add(1)
}

// rouse wakes the Flusher; a wake that is on its way already is enough.
func (c *Counter) rouse() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *Counter) shard(item queue.Item) *shard {
	return &c.shards[maphash.String(c.seed, string(item))%shardCount]
}

// name gives an item a count of its own; nil while it has not proved busy enough. Up to half of the names are given at
// the first request, so that in ordinary times every count is exact. Then an item needs 2, 4, 8, 16 requests of late,
// and in a full shard takes the name of a less busy one.
func (c *Counter) name(s *shard, item queue.Item, h uint64) *entry {
	if n := len(s.entries); n >= namesPerShard/2 {
		seen := &s.nameless[h/shardCount%namelessPerShard]
		*seen++
		if *seen < 2<<(4*(n-namesPerShard/2)/(namesPerShard/2+1)) {
			return nil
		}
		if n == namesPerShard && !c.evict(s, int64(*seen)) {
			return nil
		}
		*seen = 0
	}
	// A clone, because an item cut out of a request would keep the whole request in memory.
	e := &entry{item: queue.Item(strings.Clone(string(item))), index: len(s.entries)}
	s.items[e.item] = e
	s.entries = append(s.entries, e)
	return e
}

// evict takes the name of the least busy of the next few items, if it is less busy than count.
func (c *Counter) evict(s *shard, count int64) bool {
	var least *entry
	for range 8 {
		s.hand = (s.hand + 1) % len(s.entries)
		if e := s.entries[s.hand]; least == nil || e.window.sum < least.window.sum {
			least = e
		}
	}
	if least.window.sum >= count {
		return false
	}
	c.dropped.Add(least.requests.sum + least.newcomers.sum + int64(len(least.active)))
	c.forget(s, least)
	return true
}

// forget drops an item.
func (c *Counter) forget(s *shard, e *entry) {
	c.visitors.Add(-int64(len(e.active)))
	delete(s.items, e.item)
	last := s.entries[len(s.entries)-1]
	s.entries[e.index], last.index = last, e.index
	s.entries[len(s.entries)-1] = nil
	s.entries = s.entries[:len(s.entries)-1]
	e.index = -1
}

// heat puts an item among those that are flushed soon.
func (s *shard) heat(e *entry) {
	if !e.hot {
		e.hot = true
		s.hot = append(s.hot, e)
	}
}

// retune takes over another trigger.
func (e *entry) retune(t queue.Trigger, nodes int64) {
	if e.window.widthMS == 0 {
		e.window, e.arrivals = NewWindow(t.WindowMS), NewWindow(NewcomersMS)
	} else {
		e.window.Resize(t.WindowMS)
	}
	e.trigger = t
	e.noTripMS = 0
	e.aim(nodes)
}

// aim sets how much may be pending before a flush is due at once: this node's part of what is left up to the trigger.
// If all nodes together pass a trigger, one of them has passed its part, whatever the shares are.
func (e *entry) aim(nodes int64) {
	part := func(trigger int64, shared float64) int64 {
		if trigger <= 0 || e.on {
			return math.MaxInt64
		}
		return max(1, int64(math.Ceil((float64(trigger)-shared)/float64(max(nodes, 1)))))
	}
	e.requests.wakeAt = part(e.trigger.Requests, e.shared.Requests)
	e.newcomers.wakeAt = part(e.trigger.NewVisitorsPerMinute, e.shared.Newcomers)
}
