package memline

import "github.com/sluicehq/sluice/queue"

// release turns the queue off once it has served its purpose: drained, or quiet for long enough. It answers the
// requests in the window; -1 where they are not measured.
func (l *Line) release(it *item, now instant, out *queue.StepReport) float64 {
	if len(it.waiting) > 0 {
		it.emptySince = 0
	} else if it.emptySince == 0 {
		it.emptySince = now.ms
	}
	h := &it.header
	byItself := h.State == queue.Open && it.limits.Auto && (h.Cause == queue.ByDetector || h.Cause == queue.ByMode)
	requests, low := l.low(it, now)
	if !low || !byItself {
		it.lowSince = 0
	} else if it.lowSince == 0 {
		it.lowSince = now.ms
	}
	switch {
	case h.Draining && len(it.waiting) == 0:
		it.turnOff(now, true)
		out.Released, out.Reason = true, "drained"
	case it.emptySince > 0 && it.lowSince > 0 && now.ms-max(it.emptySince, it.lowSince) >= it.limits.ReleaseAfterMS:
		it.turnOff(now, false)
		out.Released, out.Reason = true, "released"
	}
	return requests
}

// low reports whether every set trigger's measure is below its release ratio, and the requests in the window.
func (l *Line) low(it *item, now instant) (requests float64, low bool) {
	if l.traffic == nil {
		return -1, true
	}
	requests, newcomers, active := l.traffic(it.header.Item, now.ms)
	t, ratio := it.limits.Trigger, it.limits.ReleaseRatio
	below := func(measure float64, trigger int64) bool { return trigger == 0 || measure < float64(trigger)*ratio }
	return requests, below(requests, t.Requests) && below(newcomers, t.NewVisitorsPerMinute) && below(active, t.ActiveUsers)
}

// rearm lets the detector turn the queue on again once the traffic was low after it had been turned off by hand.
func (l *Line) rearm(it *item, now instant) {
	if it.disarmed {
		_, low := l.low(it, now)
		it.disarmed = !low
	}
}
