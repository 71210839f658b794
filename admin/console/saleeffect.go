package console

import (
	"github.com/sluicehq/sluice/admin/live"
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/scheduler/sale"
)

// effect is something that saving or deleting a sale does at once to some queues.
type effect struct {
	queues, waiting int64
}

// kinds of effects.
const (
	gathers   = "gathers_now"
	opens     = "opens_now"
	takesOver = "takes_over"
	opensFor  = "opens_for"
	postpones = "postponed"
	closes    = "closes_now"
	drains    = "let_in"
	stays     = "stays"
)

// effectsOf asks the calendar as it would be what it does at once, by the very rule that does it afterwards: at the
// queues that are on under the sale, at those that it names, and at its item.
func (c *Console) effectsOf(p *page, then *sale.Calendar, id string, plan *sale.Plan) (found map[string]effect, under []live.Reading) {
	found = map[string]effect{}
	ms := c.o.Clock.Now().UnixMilli()
	add := func(kind string, r live.Reading) {
		e := found[kind]
		found[kind] = effect{e.queues + 1, e.waiting + r.Counts.Waiting}
	}
	look := func(r live.Reading) {
		h := r.Header
		of, _ := sale.ByOf(h.By)
		own := h.On() && h.Cause == queue.BySale && of == id && id != ""
		if own {
			under = append(under, r)
		} else if plan == nil || !plan.Item.Match(h.Item) {
			return
		}
		o, due := then.Due(h, ms, func() int64 { return c.o.Settings.Now().LimitsAt(h.Item, ms).SessionMS })
		if kind := kindOf(h, o, due, own); kind != "" {
			add(kind, r)
		}
	}
	seen := false
	for _, r := range c.o.Readings.All() {
		if r.Header.On() {
			look(r)
			seen = seen || plan != nil && string(r.Header.Item) == string(plan.Item)
		}
	}
	if plan != nil && plan.Item.Exact() && !seen {
		r := c.o.Readings.Look(p.gin.Request.Context(), queue.Item(plan.Item))
		r.Header.Item = queue.Item(plan.Item)
		look(r)
	}
	return found, under
}

func kindOf(h queue.Header, o queue.SwitchOrder, due, own bool) string {
	switch {
	case !due && own:
		return stays
	case !due:
		return ""
	case o.Action == queue.Gather && h.On():
		return postpones
	case o.Action == queue.Gather:
		return gathers
	case o.Action == queue.Activate && !h.On():
		return opens
	case o.Action == queue.Activate && h.State == queue.Prequeue && own:
		return opensFor
	case o.Action == queue.Activate:
		return takesOver
	case o.Action == queue.Close:
		return closes
	case o.Action == queue.Drain:
		return drains
	}
	return ""
}

// saveEffects says what saving a plan will do: at once, and what of the times changes of a sale that is on.
func (c *Console) saveEffects(p *page, plan *sale.Plan) []string {
	s, now := c.o.Settings.Now(), c.o.Clock.Now()
	ms := now.UnixMilli()
	old := s.Sales().Plan(plan.ID)
	found, under := c.effectsOf(p, s.Sales().With(plan.ID, plan), plan.ID, plan)
	o, more := plan.At(ms)
	if !more && len(found) == 0 {
		return []string{p.Text("sale.effect.past")}
	}
	w := writer{page: p, found: found}
	at := p.There(momentOf(plan, o.OpensMS))
	_, policy := s.For(queue.Item(plan.Item))
	policy = plan.Override(policy)
	inflow := policy.InflowPerSecond
	if ramp := plan.RampAt(ms - o.OpensMS); ramp != nil {
		inflow = *ramp
	}
	if old != nil && old.Item != plan.Item && len(under) > 0 {
		w.say("sale.effect.moved", "from", string(old.Item), "to", string(plan.Item))
	}
	w.count(drains)
	if found[drains].queues > 0 {
		w.say("sale.effect.refused")
	}
	w.count(closes)
	if _, is := found[gathers]; is {
		w.say("sale.effect.gathers_now", "at", at)
	}
	if _, is := found[opens]; is {
		w.say("sale.effect.opens_now", "n", inflow)
	}
	if e, is := found[takesOver]; is {
		w.lines = append(w.lines, p.Count("sale.effect.takes_over", e.queues))
	}
	w.count(opensFor)
	if old != nil && len(under) > 0 {
		was, _ := old.At(ms)
		w.count(postpones, "from", p.There(momentOf(old, was.OpensMS)), "to", at)
		if old.Item == plan.Item {
			w.changes(s, old, plan, was, o, under, ms)
		}
	}
	if len(w.lines) == 0 && more && !o.On(ms) {
		w.say("sale.effect.planned", "at", p.There(momentOf(plan, o.StartMS())))
	}
	if len(w.lines) == 0 {
		w.say("sale.effect.goes_on")
	}
	return w.lines
}

// deletionEffects says what deleting a sale will do.
func (c *Console) deletionEffects(p *page, plan *sale.Plan) []string {
	s, now := c.o.Settings.Now(), c.o.Clock.Now().UnixMilli()
	found, under := c.effectsOf(p, s.Sales().With(plan.ID, nil), plan.ID, nil)
	w := writer{page: p, found: found}
	o, more := plan.At(now)
	switch {
	case len(under) > 0:
		w.count(drains)
		w.count(opensFor)
		w.say("sale.effect.refused")
		w.say("sale.effect.gone_on")
	case more:
		w.say("sale.effect.gone_planned", "at", p.There(momentOf(plan, o.StartMS())))
	default:
		w.say("sale.effect.gone_over")
	}
	return w.lines
}

// writer writes effects, one sentence each.
type writer struct {
	page  *page
	found map[string]effect
	lines []string
}

func (w *writer) say(id string, values ...any) { w.lines = append(w.lines, w.page.Text(id, values...)) }

// count says an effect with the people it concerns, where there is one.
func (w *writer) count(kind string, values ...any) {
	if e, is := w.found[kind]; is {
		w.lines = append(w.lines, w.page.Count("sale.effect."+kind, e.waiting, values...))
	}
}

// changes says what of a sale that is on, and stays at its item, becomes another.
func (w *writer) changes(s *settings.Settings, old, plan *sale.Plan, was, o sale.Occurrence, under []live.Reading, ms int64) {
	p := w.page
	at := func(q *sale.Plan, ms int64) string { return p.There(momentOf(q, ms)) }
	open, hand := false, false
	var waiting int64
	for _, r := range under {
		open = open || r.Header.State != queue.Prequeue
		hand = hand || r.Header.Override != nil
		waiting += r.Counts.Waiting
	}
	_, staying := w.found[stays]
	if !staying && len(w.found) > 0 && w.found[postpones].queues+w.found[opensFor].queues == 0 {
		return // it closes
	}
	if open && o.OpensMS != was.OpensMS && staying {
		w.say("sale.effect.stays_open")
	}
	if !open && staying {
		w.lines = append(w.lines, p.Count("sale.effect.gathering", waiting, "at", at(plan, o.OpensMS)))
	}
	switch {
	case o.EndMS == was.EndMS:
	case o.EndMS == 0:
		w.say("sale.effect.no_end")
	case was.EndMS == 0:
		w.say("sale.effect.ends", "to", at(plan, o.EndMS))
	default:
		w.say("sale.effect.ends_other", "from", at(old, was.EndMS), "to", at(plan, o.EndMS))
	}
	_, policy := s.For(queue.Item(plan.Item))
	if a, b := inflowAt(old, policy, was, ms), inflowAt(plan, policy, o, ms); open && a != b {
		w.say("sale.effect.inflow", "from", a, "to", b)
		if hand {
			w.say("sale.effect.by_hand")
		}
	}
}

// inflowAt is the inflow of a sale at an instant.
func inflowAt(plan *sale.Plan, policy queue.Policy, o sale.Occurrence, ms int64) float64 {
	if ramp := plan.RampAt(ms - o.OpensMS); ramp != nil {
		return *ramp
	}
	return plan.Override(policy).InflowPerSecond
}
