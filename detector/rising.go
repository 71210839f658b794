package detector

import "github.com/sluicehq/sluice/queue"

// rising is the share of a trigger from which traffic is worth an operator's look.
const rising = 0.2

// Rising lists items whose queue is off and whose traffic has come to a fifth of a trigger or more, by what this node
// knows: its own counts, and all nodes' as of its last flush. At most so many, in no order.
func (c *Counter) Rising(most int, nowMS int64) []queue.Item {
	var found []queue.Item
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		for _, e := range s.entries {
			if len(found) == most {
				break
			}
			own := Measures{Requests: e.window.Sum(nowMS), Newcomers: e.arrivals.Sum(nowMS)}
			if !e.on && max(nearness(e.trigger, own), nearness(e.trigger, e.shared)) >= rising {
				found = append(found, e.item)
			}
		}
		s.mu.Unlock()
	}
	return found
}
