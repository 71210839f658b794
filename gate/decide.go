package gate

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/sluicehq/sluice/detector"
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/internal/ticket"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/batch"
)

// question is one visitor's request at one item.
type question struct {
	item    queue.Item
	pattern queue.Pattern
	policy  queue.Policy
	limits  queue.Limits
	swtch   settings.Switch // the switch over all items
	who     *caller
	caller  caller // what who points to, in one piece with the rest
	nowMS   int64  // the store's clock

	counts bool // is traffic of the item
	create bool // makes a place where there is none
	peek   bool // only looks
	stream bool // looks, and is told of an admission without claiming it
	asset  bool // belongs to a page: passes or not, and makes no place
}

// ask starts a question: policy and time.
func (g *Gate) ask(item queue.Item) *question {
	s := g.Settings.Now()
	q := &question{item: item, swtch: s.Switch(), nowMS: g.nowMS()}
	q.pattern, q.policy = s.For(item)
	q.limits = q.policy.Limits(max(1, s.Version())) // a node without settings has its defaults' numbers, not none
	q.limits.Hold = q.swtch == settings.Hold
	return q
}

// mostByGlob is how many queues the mode of a glob turns on at once: made-up item ids must not fill the store.
const mostByGlob = 10_000

// Waits that are told to those who are refused.
const (
	retryFull     = 10_000 // a place may have become free
	retryDraining = 30_000 // the queue may be off
)

// decide says what the visitor is answered. ErrNoPlace where there is nothing to say of one who only asks for a place.
func (g *Gate) decide(ctx context.Context, q *question) (verdict, error) {
	h := g.Board.Get(q.item)
	if q.counts {
		h = g.count(ctx, q, h)
	}
	switch {
	case q.swtch == settings.Pass, q.policy.Mode == queue.ModeOff:
		return passes(QueueOff, h), nil
	case h.On():
	case q.policy.Mode == queue.ModeOn && (q.peek || q.asset || q.stream):
		// On as soon as somebody asks in earnest; till then a look must not pass either.
		return verdict{action: Wait, reason: QueueOn, header: h, poll: g.pollAfter(q, &verdict{})}, nil
	case q.policy.Mode == queue.ModeOn:
		on, err := g.activate(ctx, q)
		if err != nil {
			return g.storeDown(q, h), nil
		}
		if h = on; !h.On() {
			return passes(QueueOff, h), nil
		}
	case q.swtch == settings.Hold:
		return g.held(q, h), nil
	case !g.StoreUp() && !g.Synced():
		return g.storeDown(q, h), nil
	default:
		return passes(QueueOff, h), nil
	}

	if g.holds(h, q.item, q.who.id(), q.who.pass) {
		v := passes(PassValid, h)
		v.pass, v.waiting = q.who.pass, g.flows.waiting(h)
		if !q.peek && !q.stream {
			v.pass = g.renewed(q.item, q.who.id(), q.who.pass, &q.policy, q.nowMS)
		}
		return v, nil
	}
	if q.asset {
		return verdict{action: Wait, reason: waitReason(h.State), header: h}, nil
	}
	if v, ok := g.fromMemory(ctx, q, h); ok {
		return v, nil
	}
	return g.fromStore(ctx, q, h, true)
}

// count counts the request. Where this node's own counts reach a trigger, the queue is turned on before the request
// itself is decided.
func (g *Gate) count(ctx context.Context, q *question, h queue.Header) queue.Header {
	newcomer := q.who.ticket.Place.Generation == 0 && q.who.pass.IssuedMS == 0 && q.who.visitor.Mark(q.item) == 0
	needs := detector.Needs{Trigger: q.limits.Trigger, CountActive: q.policy.TriggerActiveUsers > 0}
	trip := g.Counter.Count(q.item, q.who.id(), newcomer, needs, q.nowMS)
	if !trip || h.On() || q.policy.Mode != queue.ModeAuto || q.swtch != settings.Normal || !g.StoreUp() {
		return h
	}
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	tripped, err := g.Trips.Trip(ctx, q.item)
	if err != nil {
		g.storeFailed(ctx, "trip", q.item, err)
		return h
	}
	if tripped.Item == "" {
		return h
	}
	g.Board.Put(tripped)
	return g.Board.Get(q.item)
}

// activate turns on the queue of an item whose mode says so. However many ask, one call goes out.
func (g *Gate) activate(ctx context.Context, q *question) (queue.Header, error) {
	if !g.StoreUp() {
		return queue.Header{}, queue.ErrStoreDown
	}
	if !q.pattern.Exact() && g.Board.On() >= mostByGlob {
		return queue.Header{Item: q.item}, nil
	}
	got, err, _ := g.activations.Do(string(q.item), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storePatience)
		defer cancel()
		item := queue.Item(strings.Clone(string(q.item)))
		report, err := g.Line.Switch(ctx, item, queue.SwitchOrder{Action: queue.Activate, Limits: q.limits, Cause: queue.ByMode, By: "mode"})
		if err == nil {
			g.Board.Put(report.Header)
		}
		return report.Header, err
	})
	if err != nil {
		g.storeFailed(ctx, "activate", q.item, err)
	}
	h, _ := got.(queue.Header)
	return h, err
}

// fromMemory answers who polls from far back, or before a draw, without the store: the ticket says which place, the
// table where it stands now.
func (g *Gate) fromMemory(ctx context.Context, q *question, h queue.Header) (verdict, bool) {
	t := q.who.ticket.Place
	if q.create || q.peek || t.Generation != h.Generation || t.Epoch != h.Epoch || h.State == queue.Closed || !g.StoreUp() {
		return verdict{}, false
	}
	undrawn := h.State == queue.Prequeue && t.Score < queue.MaxLot
	if !undrawn && t.ShownMost > 0 && t.ShownMost <= farPosition {
		return verdict{}, false
	}
	if g.left.has(q.item, q.who.id(), t.IssuedMS) || g.Beats.Gone(q.item, q.who.id()) {
		return verdict{}, false
	}
	v := verdict{action: Wait, reason: waitReason(h.State), header: h}
	if undrawn {
		v.waiting = g.flows.waiting(h)
		g.Beats.Heard(q.item, q.who.id())
		g.placed(q, &v, t.Score, 0, false, q.nowMS)
		return v, true
	}
	table, err := g.tables.at(ctx, q.item)
	if err != nil {
		g.storeFailed(ctx, "positions", q.item, err)
		return verdict{}, false
	}
	if table.Header.Generation != h.Generation || table.Header.Epoch != h.Epoch {
		return verdict{}, false
	}
	last := len(table.Samples) - 1
	if last < 0 || t.Score > table.Samples[last].Score {
		return verdict{}, false // joined after the table was taken
	}
	position, exact := table.Position(t.Score)
	if position == 0 {
		return verdict{}, false // below the head, or not in line: the store knows
	}
	f := g.flows.of(q.item)
	f.waiting.Store(table.Waiting)
	if !far(position, f.estimate(position, h, q.nowMS)) {
		return verdict{}, false
	}
	g.Beats.Heard(q.item, q.who.id())
	v.waiting = table.Waiting
	show := shown(position, t.ShownMost)
	g.placed(q, &v, t.Score, show, exact && show == position, q.nowMS)
	return v, true
}

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
		return g.kept(q, known, waitReason(known.State)), nil
	}
	h = reply.Header
	if h.Item == "" {
		h.Item = q.item
	}
	switch a := reply.Answer; a.Outcome {
	case queue.Inside:
		return g.inside(q, h, reply), nil
	case queue.Waiting:
		v := verdict{action: Wait, reason: waitReason(h.State), header: h, waiting: reply.Counts.Waiting}
		if q.swtch == settings.Hold {
			v.reason = Paused
		}
		if q.stream {
			g.Beats.Heard(q.item, q.who.id()) // the open stream is a sign of life
		}
		show := a.Position
		if t := q.who.ticket.Place; t.Generation == h.Generation && far(a.Position, g.flows.of(q.item).estimate(a.Position, h, reply.NowMS)) {
			show = shown(a.Position, t.ShownMost)
		}
		g.placed(q, &v, a.Score, show, show == a.Position && show > 0, reply.NowMS)
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
	ctx, cancel := context.WithTimeout(ctx, storePatience)
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
		w := verdict{action: Wait, reason: waitReason(h.State), header: h, waiting: v.waiting}
		g.placed(q, &w, 0, 1, false, reply.NowMS)
		return w
	}
	v.pass = ticket.PassStub{Generation: h.Generation, IssuedMS: a.IssuedMS, EndsMS: a.PassEndsMS}
	return v
}

// noPlace answers who has no place, and got none.
func (g *Gate) noPlace(ctx context.Context, q *question, h queue.Header, reply batch.Reply, again bool) (verdict, error) {
	switch {
	case q.stream && again && q.who.ticket.Place.Generation == h.Generation:
		// A stream only looks, but a place that the store has lost is put back for it too.
		q.stream = false
		defer func() { q.stream = true }()
		return g.fromStore(ctx, q, h, false)
	case q.create: // only looked
		v := verdict{action: Wait, reason: waitReason(h.State), header: h, waiting: reply.Counts.Waiting}
		v.poll = g.pollAfter(q, &v)
		return v, nil
	default:
		return verdict{}, queue.ErrNoPlace
	}
}

// placed fills in the place of one who waits, and renews the ticket. score 0 = there is no ticket to give.
func (g *Gate) placed(q *question, v *verdict, score, position int64, exact bool, nowMS int64) {
	v.position, v.exact = position, exact
	v.eta = g.flows.of(q.item).estimate(position, v.header, nowMS)
	if q.swtch == settings.Hold {
		v.eta = queue.Estimate{}
	}
	v.poll = g.pollAfter(q, v)
	if score == 0 {
		return
	}
	if g.Told != nil && position <= farPosition {
		g.Told(q.item, nowMS+v.poll.Milliseconds())
	}
	old := q.who.ticket
	v.place = ticket.Ticket{
		Visitor: q.who.id(),
		Place: queue.Ticket{
			Generation: v.header.Generation, Epoch: v.header.Epoch, Score: score, IssuedMS: nowMS, ShownMost: position,
		},
		EndsMS: nowMS + q.limits.TicketLifeMS(),
	}
	switch {
	case score >= queue.MaxLot:
		v.place.JoinedMS = score / 1000
	case old.Place.Score == score && old.JoinedMS > 0:
		v.place.JoinedMS = old.JoinedMS
	default:
		v.place.JoinedMS = nowMS
	}
}

// pollAfter says when to ask again.
func (g *Gate) pollAfter(q *question, v *verdict) time.Duration {
	c := crowd(v.waiting, q.policy.PollBudgetPerSecond, v.header.Inflow)
	return queue.PollAfter(v.eta, q.limits, c, rand.Float64())
}

// storeDown answers without the store: as the policy says, to whoever has no pass.
func (g *Gate) storeDown(q *question, h queue.Header) verdict {
	if q.policy.OnStoreFailure == queue.FailOpen && q.swtch != settings.Hold && !q.peek {
		v := passes(StoreDown, h)
		v.waiting = g.flows.waiting(h)
		// It is no proof of having been inside before the queue turned on, and must not take the place of one.
		v.unmarked = h.On()
		return v
	}
	return g.kept(q, h, StoreDown)
}

// kept answers a visitor whose place is known by the ticket alone: it is renewed, and the position is the one last
// shown. Whoever has no ticket waits without a position.
func (g *Gate) kept(q *question, h queue.Header, r Reason) verdict {
	v := verdict{action: Wait, reason: r, header: h, waiting: g.flows.waiting(h)}
	if t := q.who.ticket.Place; t.Generation != 0 && t.Generation >= h.Generation {
		v.header.Generation, v.header.Epoch = t.Generation, t.Epoch // the ticket stays what it is
		g.placed(q, &v, t.Score, t.ShownMost, false, q.nowMS)
		v.header = h
	}
	v.eta = queue.Estimate{}
	v.poll = g.pollAfter(q, &v)
	return v
}

// held answers while the switch over all items lets nobody new in, and there is no line to stand in.
func (g *Gate) held(q *question, h queue.Header) verdict {
	if !h.On() && q.who.visitor.Mark(q.item) > q.nowMS-q.limits.SessionMS {
		return passes(Grace, h) // not new: was inside a moment ago
	}
	if g.holds(h, q.item, q.who.id(), q.who.pass) {
		v := passes(PassValid, h)
		v.pass = q.who.pass
		return v
	}
	return g.kept(q, h, Paused)
}
