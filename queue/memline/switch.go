package memline

import (
	"context"

	"github.com/sluicehq/sluice/queue"
)

// Switch does what operators, sales, the detector and losses do to a queue. queue.ErrWrongState where State.Next says so.
func (l *Line) Switch(_ context.Context, id queue.Item, o queue.SwitchOrder) (queue.SwitchReport, error) {
	now := l.now()
	it := l.lockOrMake(id)
	defer it.mu.Unlock()
	out := queue.SwitchReport{Before: it.header, NowMS: now.ms}
	var err error
	if o.Action == queue.Restore {
		out.Changed = l.restore(it, o, now)
	} else {
		err = l.switchTo(it, o, now, &out)
	}
	out.Header, out.Counts = it.header, it.counts(now)
	if it.header.Generation == 0 {
		l.forget(it) // nothing came of it
	}
	return out, err
}

func (l *Line) switchTo(it *item, o queue.SwitchOrder, now instant, out *queue.SwitchReport) error {
	h := &it.header
	if h.On() {
		it.take(o.Limits, now)
	}
	if it.keys.used(o.Key, now) {
		return nil
	}
	if o.Action == queue.Activate && h.On() && (o.Cause == queue.ByDetector || o.Cause == queue.ByMode) {
		return nil // it is on already, and neither of them may open a prequeue
	}
	to, changes, err := h.State.Next(o.Action, h.Draining)
	if err != nil {
		return err
	}
	if !h.On() {
		out.Changed = changes && l.mayTurnOn(it, o, now)
		if out.Changed {
			l.turnOn(it, to, o, now)
		}
		return nil
	}
	it.settle(now)
	switch o.Action {
	case queue.Activate:
		changes = it.activate(o, now)
	case queue.Gather:
		changes = h.State == queue.Prequeue && (h.OpensMS != o.OpensMS || o.Cause == queue.BySale && h.By != o.By)
		if changes {
			h.OpensMS = o.OpensMS
			if o.Cause == queue.BySale {
				h.Cause, h.By = o.Cause, o.By
			}
		}
	case queue.Deactivate:
		out.Left = int64(len(it.waiting))
		it.turnOff(now, true)
		ended := it.ended(now)
		out.Changed, out.Ended = true, &ended
		return nil
	case queue.Close:
		if changes {
			out.Left = int64(len(it.waiting))
			it.books.Left += out.Left
			it.waiting, it.order = nil, sorted{}
			it.debt, it.emptySince, h.Draining = 0, now.ms, false
			h.State = to
		}
	case queue.Drain:
		it.setState(to, now)
		h.Draining = true
	case queue.Pause, queue.Resume:
		it.setState(to, now)
	case queue.Admit:
		it.debt += max(0, o.Count)
		it.keys.use(o.Key, now)
		out.Changed = true
		return nil // the header says nothing of it
	case queue.SetInflow:
		changes = it.setInflow(o.Inflow)
	case queue.Reset:
		out.Left = int64(len(it.waiting))
		ended := it.reset(now)
		out.Ended = &ended
		it.keys.use(o.Key, now)
	}
	if out.Changed = changes; changes {
		it.changed(now)
	}
	return nil
}

// setState changes the state of a queue that is on. Coming to open starts the bucket's clock.
func (it *item) setState(to queue.State, now instant) {
	if to == queue.Open && it.header.State != queue.Open {
		it.settledUS = now.us
	}
	it.header.State = to
	it.lowSince = 0
}

// mayTurnOn reports whether a queue that is off may be turned on: not by the detector against a hand that has turned it
// off in the same rush.
func (l *Line) mayTurnOn(it *item, o queue.SwitchOrder, now instant) bool {
	if o.Cause != queue.ByDetector {
		return true
	}
	l.rearm(it, now)
	return !it.disarmed
}

// activate opens a prequeue, or pins an open queue; it reports whether that changes anything.
func (it *item) activate(o queue.SwitchOrder, now instant) bool {
	h := &it.header
	byHand := o.Cause == queue.ByOperator
	opens := h.State == queue.Prequeue
	pins := h.State == queue.Open && (byHand && h.Cause != queue.ByOperator || o.Cause == queue.BySale && h.By != o.By)
	if !opens && !pins {
		return false
	}
	it.setState(queue.Open, now)
	h.Cause, h.By = o.Cause, o.By
	return true
}

// setInflow sets the inflow by hand; nil = the policy's again. It reports whether that changes anything.
func (it *item) setInflow(inflow *float64) bool {
	h := &it.header
	if same := inflow == nil && h.Override == nil || inflow != nil && h.Override != nil && *inflow == *h.Override; same {
		return false
	}
	h.Override = nil
	if inflow != nil {
		own := *inflow
		h.Override = &own
	}
	it.setRate()
	return true
}

// reset empties the line and starts a new generation in the same state; tickets and passes from before end. It answers
// what there is to tell of the one before.
func (it *item) reset(now instant) queue.Ended {
	h := &it.header
	it.books.Left += int64(len(it.waiting))
	it.books.Revoked += int64(len(it.running))
	it.books.Reserved = 0
	it.empty()
	ended := it.ended(now)
	it.marks.clear()
	it.newGeneration(now)
	h.PassesFrom, h.ActivatedMS, h.Grace, h.Draining, h.Override = h.Generation, now.ms, false, false, nil
	it.holdMS = 0
	it.setRate()
	return ended
}

// newGeneration starts new books, an empty bucket, and no orders by hand.
func (it *item) newGeneration(now instant) {
	it.header.Generation = max(it.header.Generation+1, queue.Generation(now.ms/1000))
	it.books, it.story, it.measured = queue.Counts{}, queue.Story{}, [2]sample{}
	it.tokens, it.settledUS, it.debt = 0, now.us, 0
	it.emptySince, it.lowSince = now.ms, 0
}

// turnOn starts a queue.
func (l *Line) turnOn(it *item, to queue.State, o queue.SwitchOrder, now instant) {
	h := &it.header
	it.take(o.Limits, now)
	it.empty()
	it.newGeneration(now)
	h.State, h.Draining, h.Override = to, false, nil
	h.Epoch, h.Cause, h.By, h.Grace = l.epoch(), o.Cause, o.By, o.Cause != queue.BySale
	h.ActivatedMS, h.OpensMS = now.ms, o.OpensMS
	if o.Cause == queue.BySale {
		h.PassesFrom = h.Generation
		it.marks.clear()
	}
	it.holdMS, it.lost, it.steppedMS = 0, 0, 0
	it.disarmed = false
	if o.Action == queue.Activate {
		it.story.Trip = o.Trip
	}
	it.books.Reserved, it.reservedUntil = max(0, o.Reserved), now.ms+it.limits.SessionMS
	it.setRate()
	it.changed(now)
}

// turnOff ends a queue: everybody passes. The header stays for a while.
func (it *item) turnOff(now instant, disarm bool) {
	h := &it.header
	it.books.Left += int64(len(it.waiting))
	it.books.Finished += int64(len(it.running))
	it.books.Reserved = 0
	it.empty()
	it.debt = 0
	h.State, h.Draining, h.Override = queue.Off, false, nil
	it.disarmed, it.offSince = disarm, now.ms
	it.setRate()
	it.changed(now)
}
