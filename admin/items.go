package admin

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/queue"
)

// page is the most entries of one answer.
const page = 100

// itemView is one item, live.
type itemView struct {
	Item       queue.Item       `json:"item"`
	State      queue.State      `json:"state"`
	Draining   bool             `json:"draining"`
	Generation queue.Generation `json:"generation"`
	PassesFrom queue.Generation `json:"passes_from"`
	Since      instant          `json:"since"` // of the activation; null while off
	Cause      *queue.Cause     `json:"cause"`
	By         *string          `json:"by"`
	Grace      bool             `json:"grace"`
	OpensAt    instant          `json:"opens_at"`
	// Live is false while the line cannot be asked: then the header is the last one known, and the numbers are null.
	Live     bool        `json:"live"`
	Waiting  *int64      `json:"waiting"`
	Running  *int64      `json:"running"`
	Reserved *int64      `json:"reserved"`
	Finished *int64      `json:"finished"` // over the generation
	Books    *booksView  `json:"books"`
	Traffic  trafficView `json:"traffic"`
	Inflow   inflowView  `json:"inflow"`
	Policy   policyView  `json:"policy"` // in force, under its pattern
	Sale     *itemSale   `json:"sale"`   // that is on, or else the next
}

// itemSale is the sale of an item.
type itemSale struct {
	ID         string         `json:"id"`
	Name       string         `json:"name"`
	On         bool           `json:"on"`
	Occurrence OccurrenceView `json:"occurrence"`
}

type trafficView struct {
	Requests             *float64 `json:"requests"` // in the window; null where not measured
	WindowSeconds        int64    `json:"window_seconds"`
	TriggerRequests      int64    `json:"trigger_requests"`
	NewVisitorsPerMinute int64    `json:"trigger_new_visitors_per_minute"`
	ActiveUsers          int64    `json:"trigger_active_users"`
}

type inflowView struct {
	SetPerSecond      float64  `json:"set_per_second"`
	Source            string   `json:"source"` // policy, sale, ramp or override
	MeasuredPerSecond *float64 `json:"measured_per_second"`
	Owed              *int64   `json:"owed"` // people that admit has ordered and who are not in yet
}

// booksView are the books of a generation.
type booksView struct {
	Joined    int64 `json:"joined"`
	Returned  int64 `json:"returned"`
	Restored  int64 `json:"restored"`
	Admitted  int64 `json:"admitted"`
	Abandoned int64 `json:"abandoned"`
	Left      int64 `json:"left"`
	Carried   int64 `json:"carried"`
	Finished  int64 `json:"finished"`
	NoShow    int64 `json:"no_show"`
	Revoked   int64 `json:"revoked"`
}

func booksOf(c queue.Counts) booksView {
	return booksView{c.Joined, c.Returned, c.Restored, c.Admitted, c.Abandoned, c.Left, c.Carried, c.Finished, c.NoShow, c.Revoked}
}

// itemOf reads the item of the address.
func itemOf(c *gin.Context) (queue.Item, error) { return queue.ParseItem(problem.Param(c, "item")) }

// getItem is GET /items/{item}. An item never heard of is off.
func (a *Admin) getItem(c *gin.Context) error {
	item, err := itemOf(c)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, a.view(c.Request.Context(), item))
	return nil
}

// listItems is GET /items: the items whose queue this node knows of, by name; state and q (part of the name) choose.
func (a *Admin) listItems(c *gin.Context) error {
	state, byState := queue.ParseState(c.Query("state"))
	if c.Query("state") != "" && !byState {
		return errParameter.With("state must be off, prequeue, open, paused or closed.")
	}
	q, cursor := c.Query("q"), queue.Item(c.Query("cursor"))
	var items []queue.Item
	for _, h := range a.o.Board.All() {
		if (!byState || h.State == state) && h.Item > cursor && strings.Contains(string(h.Item), q) {
			items = append(items, h.Item)
		}
	}
	slices.Sort(items)
	var next *queue.Item
	if len(items) > page {
		items, next = items[:page], &items[page-1]
	}
	views := make([]itemView, 0, len(items))
	for _, item := range items {
		views = append(views, a.view(c.Request.Context(), item))
	}
	c.JSON(http.StatusOK, gin.H{"items": views, "next_cursor": next})
	return nil
}

// look asks the line, and passes on the header that it answers with.
func (a *Admin) look(ctx context.Context, item queue.Item) (queue.Snapshot, error) {
	s, err := a.o.Line.Look(ctx, item)
	if err == nil {
		a.seen(s.Header)
	}
	return s, err
}

// seen passes a header on; one without a version is that of an item nobody has heard of.
func (a *Admin) seen(h queue.Header) {
	if h.Version > 0 {
		a.o.Seen(h)
	}
}

// view gives one item live, or by the last header known where the line cannot be asked.
func (a *Admin) view(ctx context.Context, item queue.Item) itemView {
	s, err := a.look(ctx, item)
	if err != nil {
		a.log.DebugContext(ctx, "live view without the line", "item", item, "err", err)
		return a.viewOf(item, queue.Snapshot{Header: a.o.Board.Get(item), Requests: -1}, false)
	}
	return a.viewOf(item, s, true)
}

func (a *Admin) viewOf(item queue.Item, s queue.Snapshot, live bool) itemView {
	now, ms := a.o.Settings.Now(), a.o.Clock.Now().UnixMilli()
	f := now.InForce(item, ms)
	pattern, policy := f.Pattern, *f.Policy
	h := s.Header
	v := itemView{
		Item: item, State: h.State, Draining: h.Draining, Generation: h.Generation, PassesFrom: h.PassesFrom, Live: live,
		Traffic: trafficView{
			WindowSeconds: policy.TriggerWindowSeconds, TriggerRequests: policy.TriggerRequests,
			NewVisitorsPerMinute: policy.TriggerNewVisitorsPerMinute, ActiveUsers: policy.TriggerActiveUsers,
		},
		Inflow: inflowView{SetPerSecond: policy.InflowPerSecond, Source: "policy"},
		Policy: policyView{pattern, policy},
	}
	if next := now.Sales().Next(item, ms); next != nil {
		v.Sale = &itemSale{next.ID, next.Name, next.On(ms), viewOccurrence(next.Plan, next.Occurrence)}
		_, before := now.For(item)
		switch {
		case next.On(ms) && next.RampAt(ms-next.Occurrence.OpensMS) != nil:
			v.Inflow.Source = "ramp"
		case policy.InflowPerSecond != before.InflowPerSecond:
			v.Inflow.Source = "sale"
		}
	}
	if h.On() {
		v.Since, v.Cause, v.By, v.Grace, v.OpensAt = msInstant(h.ActivatedMS), orNil(h.Cause), orNil(h.By), h.Grace, msInstant(h.OpensMS)
		v.Inflow.SetPerSecond = h.Inflow
		if h.Override != nil {
			v.Inflow.Source = "override"
		}
	}
	if !live {
		return v
	}
	if h.On() && s.InPerSecond >= 0 {
		v.Inflow.MeasuredPerSecond = &s.InPerSecond
	}
	books := booksOf(s.Counts)
	v.Waiting, v.Running, v.Reserved, v.Finished, v.Books = &s.Counts.Waiting, &s.Counts.Running, &s.Counts.Reserved, &s.Counts.Finished, &books
	v.Inflow.Owed = &s.Debt
	if s.Requests >= 0 {
		v.Traffic.Requests = &s.Requests
	}
	return v
}
