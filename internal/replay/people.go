package replay

import (
	"context"
	"fmt"
	"math"

	"github.com/sluicehq/sluice/detector"
	"github.com/sluicehq/sluice/queue"
)

const mostMoved = 300 // by one step

// ask answers a request at a queue that is on.
func (e *engine) ask(ctx context.Context, it *item, v uint32) error {
	now, until := e.clock.ms, it.visitors[v]
	switch {
	case until == inLine:
		delete(it.leaving, v)
		return nil
	case now < until:
		if !it.limits.SessionRenewal || until == now+it.sessionMS {
			return nil
		}
		it.visitors[v] = now + it.sessionMS
		return e.touch(ctx, it, v)
	}
	if it.limits.MaxActive > 0 {
		// Room comes of ends, which nobody has looked for while nobody waited.
		if err := e.step(ctx, it); err != nil {
			return err
		}
	}
	r, err := e.line.Ask(ctx, it.id, []queue.Ask{{Visitor: e.name(v), Create: true}})
	if err != nil {
		return fmt.Errorf("ask at %s: %w", it.id, err)
	}
	switch a := r.Answers[0]; a.Outcome {
	case queue.Inside:
		it.visitors[v] = now + it.sessionMS
		if a.New {
			it.waits = append(it.waits, 0)
		}
		if now%1000 == 0 {
			return nil
		}
		return e.touch(ctx, it, v)
	case queue.Waiting:
		return e.lineUp(ctx, it, v, r.Counts.Waiting)
	case queue.NoQueue: // released by the step just now
		it.enter(v, now)
	}
	return nil // refused: the line is full
}

// touch tells the line the exact end of a visit. Passes are issued in whole seconds, so after a claim between two of
// them the line's own end is a part of a second early.
func (e *engine) touch(ctx context.Context, it *item, v uint32) error {
	if _, err := e.line.Touch(ctx, it.id, []queue.Beat{it.beat(e.name(v), it.visitors[v])}); err != nil {
		return fmt.Errorf("renew at %s: %w", it.id, err)
	}
	return nil
}

// lineUp notes a visitor who has come into line.
func (e *engine) lineUp(ctx context.Context, it *item, v uint32, waiting int64) error {
	now := e.clock.ms
	it.visitors[v] = inLine
	a := it.current()
	a.PeakWaiting = max(a.PeakWaiting, waiting)
	changes := it.waiting == 0
	if it.drawn("leave", e.trace.Visitors[v], e.o.LeaveShare) {
		it.leaving[v] = true
		it.leavers = append(it.leavers, leaver{v, now + it.policy.AbandonSeconds*1000})
		changes = changes || len(it.leavers) == 1
	}
	it.waiting, it.emptySince = waiting, 0
	if changes {
		return e.step(ctx, it) // which finds out when the first is let in
	}
	return nil
}

// leave lets those go who have been silent for long enough.
func (e *engine) leave(ctx context.Context, it *item) error {
	for len(it.leavers) > 0 && it.leavers[0].atMS <= e.clock.ms {
		l := it.leavers[0]
		it.leavers = it.leavers[1:]
		if !it.leaving[l.visitor] {
			continue
		}
		delete(it.leaving, l.visitor)
		delete(it.visitors, l.visitor)
		if _, err := e.line.End(ctx, it.id, queue.Ending{Kind: queue.Leave, Visitor: e.name(l.visitor)}); err != nil {
			return fmt.Errorf("leave %s: %w", it.id, err)
		}
		if it.waiting--; it.waiting == 0 {
			it.emptySince = e.clock.ms
		}
	}
	return nil
}

// step lets the line do what is due, and plans the next step.
func (e *engine) step(ctx context.Context, it *item) error {
	for {
		r, err := e.line.Step(ctx, it.id, queue.StepOrder{Limits: it.limits, Most: mostMoved})
		if err != nil {
			return fmt.Errorf("step %s: %w", it.id, err)
		}
		if err := e.letIn(ctx, it, r.Admitted); err != nil {
			return err
		}
		if r.Released {
			it.release(r)
			return nil
		}
		if r.More {
			continue
		}
		it.waiting = r.Counts.Waiting
		it.see(e.clock.ms)
		return e.schedule(ctx, it, r.DueMS)
	}
}

// see notes what the line has seen in a step.
func (it *item) see(nowMS int64) {
	if it.waiting > 0 {
		it.emptySince = 0
	} else if it.emptySince == 0 {
		it.emptySince = nowMS
	}
	if !detector.Low(it.limits.Trigger, it.limits.ReleaseRatio, it.measures(nowMS)) {
		it.lowSince = 0
	} else if it.lowSince == 0 {
		it.lowSince = nowMS
	}
}

// letIn lets the admitted claim at once, but for those who do not turn up.
func (e *engine) letIn(ctx context.Context, it *item, admitted []queue.LetIn) error {
	now := e.clock.ms
	asks := make([]queue.Ask, 0, len(admitted))
	beats := make([]queue.Beat, 0, len(admitted))
	for _, a := range admitted {
		v := number(a.Visitor)
		it.waits = append(it.waits, now-a.Score/1000)
		if it.leaving[v] || it.drawn("no-show", e.trace.Visitors[v], e.o.NoShowShare) {
			delete(it.leaving, v)
			delete(it.visitors, v)
			continue
		}
		it.visitors[v] = now + it.sessionMS
		asks = append(asks, queue.Ask{Visitor: a.Visitor})
		beats = append(beats, it.beat(a.Visitor, now+it.sessionMS))
	}
	if len(asks) == 0 {
		return nil
	}
	if _, err := e.line.Ask(ctx, it.id, asks); err != nil {
		return fmt.Errorf("claim at %s: %w", it.id, err)
	}
	if now%1000 == 0 {
		return nil
	}
	if _, err := e.line.Touch(ctx, it.id, beats); err != nil {
		return fmt.Errorf("claim at %s: %w", it.id, err)
	}
	return nil
}

// schedule plans when the item is looked at next: a token for the first in line, room, quiet, release, somebody who leaves.
// dueMS is what the line said; it looks a second ahead at most.
func (e *engine) schedule(ctx context.Context, it *item, dueMS int64) error {
	now, due := e.clock.ms, int64(never)
	if it.waiting > 0 && it.limits.Inflow > 0 {
		s, err := e.line.Look(ctx, it.id)
		if err != nil {
			return fmt.Errorf("look at %s: %w", it.id, err)
		}
		due = max(dueMS, now+1)
		if it.limits.MaxActive == 0 || s.Counts.Running+s.Counts.Reserved < it.limits.MaxActive {
			due = never
			if ms := math.Ceil((1 - s.Tokens - 1e-9) / it.limits.Inflow * 1000); float64(now)+ms < never {
				due = now + max(1, int64(ms))
			}
		}
	}
	switch {
	case it.lowSince == 0:
		if at, ok := it.lowAt(now); ok {
			due = min(due, max(at, now+1))
		}
	case it.waiting == 0 && it.limits.Auto:
		due = min(due, max(now+1, max(it.emptySince, it.lowSince)+it.limits.ReleaseAfterMS))
	}
	if len(it.leavers) > 0 {
		due = min(due, it.leavers[0].atMS)
	}
	if due != it.dueMS {
		it.dueMS = due
		e.dues.plan(it)
	}
	return nil
}

// release closes the activation.
func (it *item) release(r queue.StepReport) {
	a := it.current()
	at := r.NowMS
	a.ReleasedMS, a.Joined, a.Admitted = &at, r.Counts.Joined, r.Counts.Admitted
	it.on, it.dueMS, it.leavers = false, never, nil
}

func (it *item) current() *Activation { return &it.activations[len(it.activations)-1] }
