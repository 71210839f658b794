package admin

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/scheduler/sale"
)

const (
	// judgedAfter is how long after the end of a sale, and after this node came, it is told that the sale did not happen:
	// what was made up for at the last moment is known by then.
	judgedAfter = 10 * time.Second
	// missedFor is how old what was missed may be to be told.
	missedFor = 7 * 24 * time.Hour
	// mostMissed is the most times of one sale that are told at once: the newest.
	mostMissed = 10
)

// missedSales tells of sales of one item that are over and never opened: nodes were away, or a queue that was paused or
// closed by hand stood against it. Any number of admin nodes may do so: the database settles each once.
type missedSales struct {
	admin   *Admin
	since   time.Time // when this node came
	untilMS int64     // what ended up to it has been told; 0 = nothing yet

	calendar *sale.Calendar // that was looked through last,
	nextMS   int64          // and when the first of its sales ends after that
}

// settled is one time of a sale of which nothing is left to be told.
type settled struct {
	id      string
	opensMS int64
}

// settledBy gives the time of a sale that an event settles: it has opened, or its queue was turned off.
func settledBy(e Event) (settled, bool) {
	h := e.Header
	if h == nil || h.Cause != queue.BySale || e.Type != SaleOpened && (e.Type != QueueReleased || h.On()) {
		return settled{}, false
	}
	id, opensMS := sale.ByOf(h.By)
	return settled{id, opensMS}, id != ""
}

// tell tells of what has been missed since it last did. The error is that of the database or the store: again later.
func (m *missedSales) tell(ctx context.Context) error {
	now := m.admin.o.Clock.Now()
	if now.Sub(m.since) < judgedAfter {
		return nil
	}
	untilMS := now.Add(-judgedAfter).UnixMilli()
	if m.untilMS == 0 {
		if err := m.begin(ctx, now); err != nil {
			return err
		}
	}
	calendar := m.admin.o.Settings.Now().Sales()
	if calendar == m.calendar && untilMS < m.nextMS {
		return nil
	}
	nextMS := int64(math.MaxInt64)
	for _, p := range calendar.Plans() {
		if !p.Item.Exact() { // nobody may have asked for any of a pattern's items
			continue
		}
		if ended := p.Ended(m.untilMS, untilMS); len(ended) > 0 {
			if err := m.judge(ctx, p, ended, now); err != nil {
				return err
			}
		}
		if o, ok := p.At(untilMS); ok && o.EndMS != 0 {
			nextMS = min(nextMS, o.EndMS)
		}
	}
	m.untilMS, m.calendar, m.nextMS = untilMS, calendar, nextMS
	return nil
}

// begin finds from when on this node looks, and notes what is open as it comes: nobody may have been there to write that.
func (m *missedSales) begin(ctx context.Context, now time.Time) error {
	from, err := m.admin.o.Store.SalesFrom(ctx)
	if err != nil {
		return err
	}
	_, err = m.admin.o.Store.Change(ctx, func(tx *sqlstore.Tx) error {
		for _, h := range m.admin.o.Board.All() {
			if id, opensMS := sale.ByOf(h.By); h.Cause == queue.BySale && h.State == queue.Open {
				if _, err := tx.SettleSale(id, opensMS); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err == nil {
		m.untilMS = max(from, now.Add(-missedFor).UnixMilli())
	}
	return err
}

// judge settles what has ended of a sale, and tells of what had not been settled before.
func (m *missedSales) judge(ctx context.Context, p *sale.Plan, ended []sale.Occurrence, now time.Time) error {
	seen := make([]bool, len(ended))
	if m.admin.o.Settled != nil {
		marks := make([]string, len(ended))
		for i, o := range ended {
			marks[i] = sale.Mark(p.ID, o.OpensMS)
		}
		var err error
		if seen, err = m.admin.o.Settled(ctx, marks); err != nil {
			return err
		}
	}
	owner := m.admin.o.Settings.Now().Owner()
	var events []Event
	_, err := m.admin.o.Store.Change(ctx, func(tx *sqlstore.Tx) error {
		events = nil
		var missed []sale.Occurrence
		for i, o := range ended {
			news, err := tx.SettleSale(p.ID, o.OpensMS)
			if err != nil {
				return err
			}
			if news && !seen[i] {
				missed = append(missed, o)
			}
		}
		for _, o := range missed[max(0, len(missed)-mostMissed):] {
			e := missedEvent(p, o, now)
			l, err := letter(owner, e)
			if err != nil {
				return err
			}
			if err := errors.Join(tx.Queue(l), tx.Missed(&sale.Active{Plan: p, Occurrence: o})); err != nil {
				return err
			}
			events = append(events, e)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, e := range events {
		m.admin.log.WarnContext(ctx, "a sale did not happen", "sale", p.ID, "item", p.Item, "opens_at", e.Data["opens_at"])
		m.admin.o.Events.Publish(e)
	}
	if len(events) > 0 {
		m.admin.deliverer.Wake()
	}
	return nil
}

func missedEvent(p *sale.Plan, o sale.Occurrence, now time.Time) Event {
	return Event{Key: sale.Mark(p.ID, o.OpensMS), Type: SaleMissed, Item: queue.Item(p.Item), Time: now, Data: planned(p, o)}
}

// planned is what events tell of one time of a sale: which, and when each of its moments was to be.
func planned(p *sale.Plan, o sale.Occurrence) map[string]any {
	return map[string]any{
		"sale": p.ID, "name": p.Name, "prequeue_at": msInstant(o.PrequeueMS), "opens_at": msInstant(o.OpensMS), "closes_at": msInstant(o.ClosesMS),
	}
}

// SaleData is what the events of a sale's steps tell beside the queue that they change: when the step was planned, so that
// whoever is told sees how late it came. It is nil for a queue that is not a sale's; of a sale that has been deleted, or put
// off, it tells the opening alone.
func SaleData(sales *sale.Calendar, h queue.Header) map[string]any {
	id, opensMS := sale.ByOf(h.By)
	if h.Cause != queue.BySale || id == "" {
		return nil
	}
	if p := sales.Plan(id); p != nil {
		if o, ok := p.At(opensMS); ok && o.OpensMS == opensMS {
			return planned(p, o)
		}
	}
	return map[string]any{"sale": id, "name": nil, "prequeue_at": nil, "opens_at": msInstant(opensMS), "closes_at": nil}
}
