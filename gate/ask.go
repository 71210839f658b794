package gate

import (
	"context"

	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/internal/ticket"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/batch"
)

// Waits that are told to those who are refused.
const (
	retryFull     = 10_000 // a place may have become free
	retryDraining = 30_000 // the queue may be off
)

// fromStore asks the line itself. again: a queue that is off and should be on is turned on and asked a second time.
func (g *Gate) fromStore(ctx context.Context, q *question, h queue.Header, again bool) (verdict, error) {
	if !g.StoreUp() {
		return g.storeDown(q, h), nil
	}
	reply, err := g.askLine(ctx, q, h)
	if err != nil {
		if ctx.Err() != nil {
			return verdict{}, ctx.Err() // the caller has gone
		}
		g.storeFailed(ctx, "ask", q.item, err)
		return g.storeDown(q, h), nil
	}
	known := g.Board.Get(q.item)
	if !reply.Header.On() && known.On() && known.Version > reply.Header.Version {
		// The store has lost the queue, and whoever heals it has not done so yet: everybody keeps the place that the
		// ticket proves, and nobody passes.
		return g.kept(q, known, q.waits(known.State)), nil
	}
	h = reply.Header
	if h.Item == "" {
		h.Item = q.item
	}
	switch a := reply.Answer; a.Outcome {
	case queue.Inside:
		return g.inside(q, h, reply), nil
	case queue.Waiting:
		v := verdict{action: Wait, reason: q.waits(h.State), header: h, waiting: reply.Counts.Waiting}
		if q.stream {
			g.Beats.Heard(q.item, q.who.id()) // the open stream is a sign of life
		}
		show := a.Position
		if t := q.who.ticket.Place; t.Generation == h.Generation && far(a.Position, g.flows.of(q.item).estimate(a.Position, h, reply.NowMS)) {
			show = shown(a.Position, t.ShownMost)
		}
		g.placed(q, &v, a.Score, show, show == a.Position && show > 0, reply.NowMS)
		if a.New && v.eta.Known {
			g.etas.told(q.item, q.who.id(), etaTold{
				wait: v.eta.Wait, joinedMS: reply.NowMS, generation: h.Generation, abandonMS: q.limits.AbandonMS,
			}, g.generation)
		}
		return v, nil
	case queue.Full:
		v := rejects(QueueFull, h, retryFull)
		v.waiting = reply.Counts.Waiting
		return v, nil
	case queue.NotOpen:
		v := rejects(Closed, h, never)
		if h.Draining {
			v.retryMS = retryDraining
		}
		v.waiting = reply.Counts.Waiting
		return v, nil
	case queue.NoPlace:
		return g.noPlace(ctx, q, h, reply, again)
	default: // NoQueue
		if q.policy.Mode == queue.ModeOn && again && !q.peek {
			if on, err := g.activate(ctx, q); err == nil && on.On() {
				return g.fromStore(ctx, q, on, false)
			} else if err != nil {
				return g.storeDown(q, h), nil
			}
		}
		if q.swtch == settings.Hold {
			return g.held(q, h), nil
		}
		return passes(QueueOff, h), nil
	}
}

// askLine makes one call of the line, and takes over what its reply tells.
func (g *Gate) askLine(ctx context.Context, q *question, h queue.Header) (batch.Reply, error) {
	a := queue.Ask{Visitor: q.who.id(), Create: q.create, Peek: q.peek || q.stream}
	if q.who.ticket.Place.Generation != 0 {
		t := q.who.ticket.Place
		a.Ticket = &t
	}
	if h.Grace {
		a.MarkMS = q.who.visitor.Mark(q.item)
	}
	if q.limits.Random {
		a.Lot = g.Keys.Lot(q.item, h.Generation, a.Visitor)
	}
	ctx, cancel := context.WithTimeout(ctx, g.StorePatience)
	defer cancel()
	sent := g.base.Now()
	reply, err := g.Asks.Ask(ctx, q.item, a)
	if err != nil {
		return reply, err
	}
	g.Clock.Saw(reply.NowMS, sent)
	if reply.Header.Item != "" {
		g.Board.Put(reply.Header)
		g.flows.saw(reply.Header, reply.Counts, q.limits, reply.NowMS)
	}
	return reply, nil
}

// inside answers who is in running.
func (g *Gate) inside(q *question, h queue.Header, reply batch.Reply) verdict {
	a := reply.Answer.Admission
	v := passes(Admitted, h)
	if a.Kind == queue.Graced {
		v.reason = Grace
	}
	v.waiting = reply.Counts.Waiting
	switch {
	case q.stream:
		return v // without a pass: the next status claims it
	case q.peek:
		// A prefetch must not be what lets somebody in. The page itself asks again.
		w := verdict{action: Wait, reason: q.waits(h.State), header: h, waiting: v.waiting}
		g.placed(q, &w, 0, 1, false, reply.NowMS)
		return w
	}
	if told, took, ok := g.etas.letIn(q.item, q.who.id(), a.AdmittedMS); ok {
		g.Recorder.Told(told, took)
	}
	if !reply.Answer.New {
		g.endPlace(q, h, reply.Answer.Score, reply.NowMS)
	}
	v.pass = ticket.PassStub{Generation: h.Generation, IssuedMS: a.IssuedMS, EndsMS: a.PassEndsMS}
	return v
}

// noPlace answers who has no place, and got none.
func (g *Gate) noPlace(ctx context.Context, q *question, h queue.Header, reply batch.Reply, again bool) (verdict, error) {
	switch {
	case q.stream && again && (q.who.ticket.Place.Generation == h.Generation || h.Grace && q.who.visitor.Mark(q.item) > 0):
		// A stream only looks, but a place that the store has lost is put back for it too, and grace is grace.
		q.stream = false
		defer func() { q.stream = true }()
		return g.fromStore(ctx, q, h, false)
	case q.create: // only looked
		v := verdict{action: Wait, reason: q.waits(h.State), header: h, waiting: reply.Counts.Waiting}
		v.poll = g.pollAfter(q, &v)
		return v, nil
	default:
		g.etas.forget(q.item, q.who.id())
		return verdict{}, queue.ErrNoPlace
	}
}

// generation is what an item is in, as far as this node knows; 0 while its queue is off.
func (g *Gate) generation(item queue.Item) queue.Generation {
	if h := g.Board.Get(item); h.On() {
		return h.Generation
	}
	return 0
}
