package sale

import "github.com/sluicehq/sluice/queue"

// Due gives what a sale is to do at a queue at an instant (unix ms); false where it does nothing. sessionMS tells for how
// long a queue that has closed stays so.
func (c *Calendar) Due(h queue.Header, ms int64, sessionMS func() int64) (o queue.SwitchOrder, due bool) {
	a := c.On(h.Item, ms)
	switch {
	case a == nil:
		if h.On() && h.Cause == queue.BySale {
			return c.end(h, ms, sessionMS)
		}
		return o, false
	case !h.On():
		return a.Start(ms), !a.Marked(h) // else it was turned off by hand
	case h.State == queue.Prequeue:
		o = a.Start(ms)
		return o, o.Action == queue.Activate || !a.Marked(h) || h.OpensMS != a.Occurrence.OpensMS
	case h.State == queue.Open:
		// The line stays and goes on under the sale, from its prequeue on: nothing else may let it go before the opening.
		return queue.SwitchOrder{Action: queue.Activate, Cause: queue.BySale, By: a.By()}, !a.Marked(h)
	case h.State == queue.Closed && h.Cause == queue.BySale:
		return queue.SwitchOrder{Action: queue.Deactivate}, !a.Marked(h) // of the occurrence before
	}
	return o, false // paused or closed by hand: it stays so
}

// end gives what is to be done at a queue of a sale that is on no more: it closes, and goes off after a session.
func (c *Calendar) end(h queue.Header, ms int64, sessionMS func() int64) (o queue.SwitchOrder, due bool) {
	id, opensMS := ByOf(h.By)
	p := c.Plan(id)
	switch {
	case h.State == queue.Closed:
		// A version is the instant of the change, or later.
		return queue.SwitchOrder{Action: queue.Deactivate}, ms >= h.Version+sessionMS()
	case p == nil || !p.Item.Match(h.Item): // deleted: who is in the line is let in, then the queue is gone
		if h.State == queue.Prequeue {
			return queue.SwitchOrder{Action: queue.Activate, Cause: queue.BySale, By: h.By}, true
		}
		return queue.SwitchOrder{Action: queue.Drain}, h.State == queue.Open && !h.Draining
	}
	marked, ok := p.At(opensMS)
	was := ok && marked.OpensMS == opensMS && marked.EndMS != 0 && marked.EndMS <= ms
	next, more := p.At(ms)
	switch {
	case was || !more:
		return queue.SwitchOrder{Action: queue.Close, Cause: queue.BySale, By: h.By}, true
	case h.State != queue.Prequeue:
		return o, false // put off, but it has opened already
	}
	// Put off: who has gathered waits on.
	o = (&Active{Plan: p, Occurrence: next}).Start(ms)
	return o, h.By != o.By || h.OpensMS != next.OpensMS
}
