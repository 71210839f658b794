package detector

import "sync"

// The store keeps keys for each item that it is told of, for as long as they can matter: a window, a minute, two
// sessions. Made-up ids must not fill it, however slowly they come and whatever their policy counts. So an item of which
// little is pending, and nothing in the store yet, is told of only while there is a quota; what is not told counts on.

// measure is one of the things that are counted of an item.
type measure int

const (
	requests measure = iota
	newcomers
	active
	measures
)

const (
	// few is how much of a measure is told whatever the quota says: a made-up id is asked for once or twice.
	few = 3
	// negligible is the part of its trigger or limit below which a measure does not matter.
	negligible = 0.01
)

// mostTold is how many items with few of a measure the store keeps at a time, over all nodes: in a burst and all the
// time after it half of these each.
var mostTold = [measures]int64{requests: 5000, newcomers: 5000, active: 2000}

// quota is what may still be told, in items × the time for which the store keeps them.
type quota struct {
	mu   sync.Mutex
	left int64
	atMS int64
}

// take takes one item that the store keeps for a time, where that much is left of a share of most.
func (q *quota) take(most, nowMS, keptMS int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.atMS == 0 {
		q.left = most * keptMS
	} else {
		q.left += most * max(0, nowMS-q.atMS)
	}
	q.left, q.atMS = min(q.left, most*keptMS), max(q.atMS, nowMS)
	if q.left < keptMS {
		return false
	}
	q.left -= keptMS
	return true
}

// tells reports whether n of a measure are told of an item, and notes until when the store keeps them.
func (c *Counter) tells(e *entry, m measure, n, keptMS, nowMS int64) bool {
	if n == 0 {
		return false
	}
	if n < few && nowMS >= e.toldMS[m] && !e.urgent && !c.told[m].take(max(1, mostTold[m]/2/max(c.nodes.Load(), 1)), nowMS, keptMS) {
		return false
	}
	e.toldMS[m] = nowMS + keptMS
	return true
}

// activeMatters reports whether the active visitors that are pending are worth a flush: below a hundredth of what they
// are compared with they stay with the node, unless the store keeps some of this item anyway.
func (e *entry) activeMatters(nowMS int64) bool {
	n := int64(len(e.active))
	return n > 0 && (nowMS < e.toldMS[active] || n >= hundredth(e.activeLimit))
}

// weight is how much an item has to flush.
func (e *entry) weight(nowMS int64) int64 {
	if e.activeMatters(nowMS) {
		return max(e.requests.sum, int64(len(e.active)))
	}
	return e.requests.sum
}

// matters reports whether what is pending is worth a flush among many items: a hundredth of a trigger, and not few.
func (e *entry) matters(nowMS int64) bool {
	least := func(trigger int64) int64 { return max(few, hundredth(trigger)) }
	return e.requests.sum >= least(e.trigger.Requests) ||
		e.trigger.NewVisitorsPerMinute > 0 && e.newcomers.sum >= least(e.trigger.NewVisitorsPerMinute) ||
		e.activeMatters(nowMS) && int64(len(e.active)) >= least(e.activeLimit)
}

// hundredth is a hundredth of a number, rounded up.
func hundredth(n int64) int64 { return int64(float64(n)*negligible + 0.999) }
