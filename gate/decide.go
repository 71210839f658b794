package gate

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/sluicehq/sluice/detector"
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/internal/ticket"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/scheduler/sale"
)

// question is one visitor's request at one item.
type question struct {
	item    queue.Item
	pattern queue.Pattern // that the policy was written for
	policy  *queue.Policy // read only
	limits  queue.Limits
	sale    *sale.Active    // that is on; nil = none
	swtch   settings.Switch // the switch over all items
	who     *caller
	now     time.Time // the store's clock
	nowMS   int64
	said    verdict // what it is answered

	counts bool // is traffic of the item
	create bool // makes a place where there is none
	peek   bool // only looks
	stream bool // looks, and is told of an admission without claiming it
	asset  bool // belongs to a page: passes or not, and makes no place and no visitor
	media  bool // an asset that may be all that a visitor asks for during a long time

	connector bool // the visitor goes on to a site with a connector of another system

	// What a question needs, in one piece, to be used again. Who points to caller, whose visitor and jar are read into
	// these.
	caller  caller
	visitor ticket.Visitor
	jar     ticket.Jar
}

var questionPool = sync.Pool{New: func() any { return new(question) }}

// ask starts a question: policy and time. Who is done with it may release it.
func (g *Gate) ask(item queue.Item) *question {
	s := g.Settings.Now()
	q := questionPool.Get().(*question)
	q.now = g.Clock.Now()
	q.nowMS = q.now.UnixMilli()
	f := s.InForce(item, q.nowMS)
	q.item, q.pattern, q.policy, q.limits, q.sale, q.swtch = item, f.Pattern, f.Policy, f.Limits, f.Sale, s.Switch()
	return q
}

// release lets the memory of a question be used for another one. Nothing may point into it any more.
func (q *question) release() {
	*q = question{visitor: q.visitor, jar: q.jar} // which are read anew before they are looked at
	questionPool.Put(q)
}

// decide says what the visitor is answered. ErrNoPlace where there is nothing to say of one who only asks for a place.
func (g *Gate) decide(ctx context.Context, q *question) (verdict, error) {
	h := g.Board.Get(q.item)
	if q.counts {
		h = g.count(ctx, q, h)
	}
	// A store that has lost its marks would put an ended place back.
	if t := q.who.ticket.Place; t.Generation != 0 && g.Beats.PlaceEnded(q.item, q.who.id(), t) {
		q.who.ticket = ticket.Ticket{}
	}
	switch {
	case q.swtch == settings.Pass, q.policy.Mode == queue.ModeOff:
		// Whoever is inside stays so, for the time when lines hold again.
		if h.On() && g.holds(h, q.item, q.who.id(), q.who.pass) {
			return g.passValid(q, h), nil
		}
		v := passes(QueueOff, h)
		v.waiting = g.waiting(q, h)
		return v, nil
	case h.On():
	case (q.policy.Mode == queue.ModeOn || q.saleStarts(h)) && (q.peek || q.asset || q.stream):
		// On as soon as somebody asks in earnest; till then a look must not pass either.
		return verdict{action: Wait, reason: QueueOn, header: h, poll: g.pollAfter(q, &verdict{})}, nil
	case q.policy.Mode == queue.ModeOn, q.saleStarts(h):
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
		return g.passValid(q, h), nil
	}
	if q.asset && !g.StoreUp() {
		return g.storeDown(q, h), nil
	}
	if q.asset {
		v := verdict{action: Wait, reason: q.waits(h.State), header: h, waiting: g.waiting(q, h)}
		v.poll = g.pollAfter(q, &v)
		return v, nil
	}
	if v, ok := g.fromMemory(ctx, q, h); ok {
		return v, nil
	}
	return g.fromStore(ctx, q, h, true)
}

// passValid answers who holds a pass.
func (g *Gate) passValid(q *question, h queue.Header) verdict {
	v := passes(PassValid, h)
	v.pass, v.waiting = q.who.pass, g.waiting(q, h)
	if !q.peek && !q.stream {
		v.pass = g.renewed(q.item, q.who.id(), q.who.pass, q.policy, q.nowMS)
	}
	return v
}

// waiting is the length of the line as it was last seen. Where nothing but memory answers for a while, it is looked at
// beside the requests, once a second.
func (g *Gate) waiting(q *question, h queue.Header) int64 {
	if !h.On() || h.State == queue.Closed {
		return 0
	}
	f := g.flows.of(q.item)
	if seen := f.seenMS.Load(); q.nowMS-seen >= flowEvery && g.StoreUp() && f.seenMS.CompareAndSwap(seen, q.nowMS) {
		item, limits := queue.Item(strings.Clone(string(q.item))), q.limits
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), g.StorePatience)
			defer cancel()
			if look, err := g.Line.Look(ctx, item); err == nil && look.Header.On() {
				g.flows.saw(look.Header, look.Counts, limits, look.NowMS)
			}
		}()
	}
	return f.waiting.Load()
}

// count counts the request. Where this node's own counts reach a trigger, the queue is turned on before the request
// itself is decided.
func (g *Gate) count(ctx context.Context, q *question, h queue.Header) queue.Header {
	newcomer := q.who.ticket.Place.Generation == 0 && q.who.pass.IssuedMS == 0 && q.who.visitor.Mark(q.item) == 0
	needs := detector.Needs{Trigger: q.limits.Trigger, MaxActive: q.limits.MaxActive, SessionMS: q.limits.SessionMS}
	trip := g.Counter.Count(q.item, q.who.id(), newcomer, needs, q.nowMS)
	if !trip || h.On() || q.policy.Mode != queue.ModeAuto || q.swtch != settings.Normal || !g.StoreUp() {
		return h
	}
	ctx, cancel := context.WithTimeout(ctx, g.StorePatience)
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

// saleStarts reports whether a sale is on for an item whose queue is off, and nobody has turned it off during the sale.
func (q *question) saleStarts(h queue.Header) bool {
	return q.sale != nil && !q.sale.Marked(h)
}

// activate turns on the queue of an item whose mode, or a sale, says so. However many ask, one call goes out.
func (g *Gate) activate(ctx context.Context, q *question) (queue.Header, error) {
	if !g.StoreUp() {
		return queue.Header{}, queue.ErrStoreDown
	}
	order, pattern := queue.SwitchOrder{Action: queue.Activate, Cause: queue.ByMode, By: "mode"}, q.pattern
	if q.sale != nil { // also where the mode is on: it may be time to gather
		order, pattern = q.sale.Start(q.nowMS), q.sale.Item
	}
	order.Limits = q.limits
	if !pattern.Exact() && !g.globs.take(pattern, g.Board, g.Settings.Now(), g.base.Now(), q.nowMS) {
		return queue.Header{Item: q.item}, nil
	}
	got, err, _ := g.activations.Do(string(q.item), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.StorePatience)
		defer cancel()
		item := queue.Item(strings.Clone(string(q.item)))
		report, err := g.Line.Switch(ctx, item, order)
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

// fromMemory answers who polls, or waits for a draw, without asking the line: the ticket says which place, the table or
// the last look at the head where it stands now.
func (g *Gate) fromMemory(ctx context.Context, q *question, h queue.Header) (verdict, bool) {
	t := q.who.ticket.Place
	if q.create || q.peek || t.Generation != h.Generation || t.Epoch != h.Epoch || h.State == queue.Closed || !g.StoreUp() {
		return verdict{}, false
	}
	undrawn := h.State == queue.Prequeue && t.Score < queue.MaxLot
	if g.Beats.Gone(q.item, q.who.id()) {
		return verdict{}, false
	}
	v := verdict{action: Wait, reason: q.waits(h.State), header: h}
	if undrawn {
		v.waiting = g.waiting(q, h)
		g.Beats.Heard(q.item, q.who.id())
		g.placed(q, &v, t.Score, 0, false, q.nowMS)
		return v, true
	}
	if t.ShownMost > 0 && t.ShownMost <= farPosition {
		return g.near(ctx, q, h)
	}
	table, err := g.tables.at(ctx, q.item)
	if err != nil {
		// One failed look is no outage, and asking the line as well would take as long again: the place is as last shown.
		g.storeFailed(ctx, "positions", q.item, err)
		v.waiting = g.waiting(q, h)
		g.placed(q, &v, t.Score, t.ShownMost, false, q.nowMS)
		return v, true
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
		return g.near(ctx, q, h)
	}
	g.Beats.Heard(q.item, q.who.id())
	v.waiting = table.Waiting
	show := shown(position, t.ShownMost)
	if t.ShownMost > 0 && table.AtMS <= t.IssuedMS {
		show = min(show, t.ShownMost) // a table from before the ticket cannot say that the place became worse
	}
	g.placed(q, &v, t.Score, show, exact && show == position, q.nowMS)
	return v, true
}
