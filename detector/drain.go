package detector

import (
	"cmp"
	"slices"

	"github.com/sluicehq/sluice/queue"
)

// The bounds of one flush of a node.
const (
	mostSamples = 2000
	// Past crowded pending items, those whose pending counts are below negligible of their trigger are left out: a flood
	// of made-up ids must not become a flood of keys. They keep their counts while these are within their window.
	crowded = 200
	// near is the share of a trigger from which an item is flushed at the fast pace.
	near = 0.5
)

// candidate is an item with something to flush, as it was found.
type candidate struct {
	shard   *shard
	entry   *entry
	weight  int64 // as it was then; the entry itself is read under the shard's lock only
	matters bool
	urgent  bool
}

func (s *shard) candidate(e *entry, nowMS int64) candidate {
	return candidate{s, e, e.weight(nowMS), e.matters(nowMS), e.urgent}
}

// drain takes the pending counts of the items that are due: the hot ones, or all; at most mostSamples, the busiest
// first. The samples lack Limits, Node and Seq.
func (c *Counter) drain(all bool, nowMS int64) []Sample {
	var found []candidate
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		if all {
			found = c.survey(s, found, nowMS)
		} else {
			for _, e := range s.hot {
				if e.index >= 0 && e.weight(nowMS) > 0 {
					found = append(found, s.candidate(e, nowMS))
				}
			}
		}
		s.cool()
		s.mu.Unlock()
	}
	if len(found) > crowded {
		found = slices.DeleteFunc(found, func(f candidate) bool { return !f.urgent && !f.matters })
	}
	slices.SortFunc(found, func(a, b candidate) int {
		if a.urgent != b.urgent {
			if a.urgent {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.weight, a.weight)
	})
	samples := make([]Sample, 0, min(len(found), mostSamples))
	for _, f := range found[:min(len(found), mostSamples)] {
		f.shard.mu.Lock()
		if f.entry.index >= 0 {
			if s := c.take(f.entry, nowMS, false); !s.empty() {
				samples = append(samples, s)
			}
		}
		f.shard.mu.Unlock()
	}
	return samples
}

// survey finds everything that is pending in a shard, drops what is too old to matter, forgets items that have gone
// quiet, and lets the nameless counters decay. Once a second.
func (c *Counter) survey(s *shard, found []candidate, nowMS int64) []candidate {
	for i := range s.nameless {
		s.nameless[i] /= 2
	}
	for i := len(s.entries) - 1; i >= 0; i-- {
		e := s.entries[i]
		c.dropped.Add(e.requests.expire(nowMS-e.window.widthMS) + e.newcomers.expire(nowMS-NewcomersMS))
		if e.weight(nowMS) > 0 {
			found = append(found, s.candidate(e, nowMS))
		} else if e.window.Sum(nowMS) == 0 && e.arrivals.Sum(nowMS) == 0 && (len(e.active) == 0 || nowMS-e.activeMS >= e.sessionMS) {
			c.forget(s, e)
		}
	}
	return found
}

// cool drops from the hot list what is no longer close to a trigger.
func (s *shard) cool() {
	s.hot = slices.DeleteFunc(s.hot, func(e *entry) bool {
		stays := e.index >= 0 && (e.urgent || e.close())
		e.hot = stays
		return !stays
	})
}

// take empties what is to be told of an item's pending counts into a sample; all: whatever is pending. The caller holds
// the shard's lock.
func (c *Counter) take(e *entry, nowMS int64, all bool) Sample {
	s := Sample{Item: e.item, takenMS: nowMS}
	if all || c.tells(e, requests, e.requests.sum, e.window.widthMS, nowMS) {
		s.Counts = e.requests.take(nowMS)
	}
	if all || c.tells(e, newcomers, e.newcomers.sum, NewcomersMS, nowMS) {
		s.Newcomers = e.newcomers.take(nowMS)
	}
	if len(e.active) > 0 && (all || e.activeMatters(nowMS) && c.tells(e, active, int64(len(e.active)), 2*e.sessionMS, nowMS)) {
		s.Active = make([]queue.Visitor, 0, len(e.active))
		for v := range e.active {
			s.Active = append(s.Active, v)
		}
		c.visitors.Add(-int64(len(e.active)))
		clear(e.active)
	}
	e.urgent = false
	return s
}

// takeOne empties one item's pending counts, because it trips; the zero counts where the item is not known.
func (c *Counter) takeOne(item queue.Item, nowMS int64) Sample {
	s := c.shard(item)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.items[item]; e != nil {
		return c.take(e, nowMS, true)
	}
	return Sample{Item: item, takenMS: nowMS}
}

// learn takes over what a flush told about an item.
func (c *Counter) learn(v Verdict) {
	s := c.shard(v.Item)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.items[v.Item]
	if e == nil {
		return
	}
	e.shared, e.on = v.Measures, v.Header.On()
	e.aim(c.nodes.Load())
	if e.close() {
		s.heat(e)
	}
}

// refuse stops an item from tripping on this node for a while: the shared traffic did not activate it.
func (c *Counter) refuse(item queue.Item, untilMS int64) {
	s := c.shard(item)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.items[item]; e != nil {
		e.noTripMS = untilMS
	}
}

// close reports whether the item is so near a trigger that it is flushed at the fast pace.
func (e *entry) close() bool {
	if e.on {
		return false // nothing left to trip
	}
	m := e.shared
	m.Requests += float64(e.requests.sum)
	m.Newcomers += float64(e.newcomers.sum)
	m.Active += float64(len(e.active))
	return nearness(e.trigger, m) >= near
}

// expire drops buckets up to an instant, and says how many events that were.
func (p *pending) expire(uptoMS int64) (dropped int64) {
	i := 0
	for ; i < len(p.buckets) && p.buckets[i].atMS <= uptoMS; i++ {
		dropped += p.buckets[i].n
	}
	if i > 0 {
		p.buckets = slices.Delete(p.buckets, 0, i)
		p.sum -= dropped
	}
	return dropped
}

func (p *pending) take(nowMS int64) []Bucket {
	if len(p.buckets) == 0 {
		return nil
	}
	taken := make([]Bucket, len(p.buckets))
	for i, b := range p.buckets {
		taken[i] = Bucket{AgeMS: max(0, nowMS-b.atMS), N: b.n}
	}
	p.buckets, p.sum = p.buckets[:0], 0
	return taken
}
