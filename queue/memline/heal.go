package memline

import "github.com/sluicehq/sluice/queue"

// heal begins a new epoch where a node knows more of the queue than is kept here.
func (l *Line) heal(it *item, o queue.StepOrder, now instant) bool {
	h, known := &it.header, o.Seen.Header
	if known.Generation < h.Generation || known.Generation == h.Generation &&
		o.Seen.LastScore <= it.last && known.Version <= h.Version {
		return false
	}
	if known.Newer(*h) && known.On() {
		h.State, h.Draining, h.Cause, h.By, h.Grace = known.State, known.Draining, known.Cause, known.By, known.Grace
		h.ActivatedMS, h.OpensMS, h.Override = known.ActivatedMS, known.OpensMS, known.Override
	}
	h.Generation = max(h.Generation, known.Generation)
	h.PassesFrom = max(h.PassesFrom, known.PassesFrom)
	h.Version = max(h.Version, known.Version)
	// Who is there came in somehow; how is not known any more.
	waiting, running := int64(len(it.waiting)), int64(len(it.running))
	it.books, it.measured = queue.Counts{Returned: waiting, Restored: waiting, Carried: running}, [2]sample{}
	l.newEpoch(it, o.Seen, now)
	return true
}

// restore puts back a queue that the store has lost.
func (l *Line) restore(it *item, o queue.SwitchOrder, now instant) bool {
	if o.Known.Header.Generation <= it.header.Generation {
		return false
	}
	id, version, from := it.header.Item, it.header.Version, it.header.PassesFrom
	it.header = o.Known.Header
	it.header.Item = id
	it.header.Version = max(it.header.Version, version)
	it.header.PassesFrom = max(it.header.PassesFrom, from)
	it.empty()
	it.marks.clear()
	it.debt, it.lost, it.steppedMS = 0, 0, 0
	it.lowSince, it.emptySince, it.offSince = 0, now.ms, now.ms
	it.disarmed = false
	it.books, it.story, it.measured = queue.Counts{}, queue.Story{}, [2]sample{}
	it.take(o.Limits, now)
	l.newEpoch(it, o.Known, now)
	return true
}

// newEpoch is what every loss leads to: nobody goes in for a while, room is kept for those known to be inside, and
// tickets bring people back.
func (l *Line) newEpoch(it *item, known queue.Known, now instant) {
	it.header.Epoch = l.epoch()
	it.last = max(it.last, known.LastScore)
	it.tokens, it.settledUS = 0, now.us
	it.holdMS = now.ms + max(leastHoldMS, known.HoldMS)
	it.books.Reserved = max(0, known.Inside-int64(len(it.running)))
	it.reservedUntil = now.ms + it.limits.SessionMS
	it.setRate()
	it.changed(now)
}
