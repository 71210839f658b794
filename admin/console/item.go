package console

import (
	"cmp"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/sluicehq/sluice/admin/live"
	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
)

// itemBody is what the page of one item shows.
type itemBody struct {
	row
	Header   queue.Header
	Counts   queue.Counts
	Owed     int64
	Since    time.Time
	OpensAt  time.Time
	HoldEnds time.Time     // after a loss nobody is let in before; zero = no hold
	Wait     time.Duration // of somebody who lined up now
	WaitOK   bool          // Wait is known
	Pattern  queue.Pattern
	Policy   queue.Policy
	Deeds    []deedLink
	Inflow   inflowForm
	History  history
	Visitor  visitorBody
	Sale     *itemSale // that is on, or else the next; nil = none
}

// itemSale is the sale of an item, as its page shows it.
type itemSale struct {
	saleLine
	On        bool
	Gathers   moment
	Overrides []string // the fields
}

// itemOf reads the item of the address.
func (p *page) itemOf() (queue.Item, error) { return queue.ParseItem(problem.Param(p.gin, "item")) }

// item is GET /items/{item}.
func (c *Console) item(p *page) error {
	item, err := p.itemOf()
	if err != nil {
		return err
	}
	b := c.itemBody(p, item)
	if b.History, err = c.history(p, item); err != nil {
		return err
	}
	b.Visitor = visitorBody{Item: item}
	return p.showItem(b)
}

func (p *page) showItem(b itemBody) error {
	p.Section, p.Title, p.Body = "items", string(b.Item), b
	p.Done = p.readDone(b)
	return p.show(http.StatusOK, "item")
}

// itemBody gives the part of the page that changes by the second.
func (c *Console) itemBody(p *page, item queue.Item) itemBody {
	return c.bodyOf(p, item, c.o.Readings.Look(p.gin.Request.Context(), item))
}

func (c *Console) bodyOf(p *page, item queue.Item, r live.Reading) itemBody {
	h := r.Header
	h.Item = item
	r.Header = h
	b := itemBody{row: c.row(r), Header: h, Counts: r.Counts, Owed: r.Owed}
	b.State = stateWord(h)
	b.Pattern, b.Policy = c.o.Settings.Now().For(item)
	if h.On() {
		b.Since = time.UnixMilli(h.ActivatedMS)
		b.Finished = r.Counts.Finished
	}
	if h.OpensMS > 0 {
		b.OpensAt = time.UnixMilli(h.OpensMS)
	}
	if r.HoldMS > 0 {
		b.HoldEnds = time.UnixMilli(r.HoldMS)
	}
	ms := c.o.Clock.Now().UnixMilli()
	if next := c.o.Settings.Now().Sales().Next(item, ms); next != nil {
		line := saleLine{Plan: next.Plan, Phase: phaseOf(next.Occurrence, time.UnixMilli(ms)), Opens: momentOf(next.Plan, next.Occurrence.OpensMS), Closes: momentOf(next.Plan, next.Occurrence.ClosesMS)}
		b.Sale = &itemSale{line, next.On(ms), momentOf(next.Plan, next.Occurrence.PrequeueMS), next.Overrides()}
	}
	b.Wait, b.WaitOK = waitOf(h, r.Counts.Waiting, h.Inflow)
	b.Deeds = deedsFor(p, b)
	b.Inflow = inflowFormOf(b)
	return b
}

// waitOf is how long somebody at the end of the line would wait at an inflow.
func waitOf(h queue.Header, waiting int64, inflow float64) (time.Duration, bool) {
	if h.State != queue.Open || inflow <= 0 {
		return 0, false
	}
	e := queue.EstimateWait(waiting+1, queue.Flow{InflowPerSecond: inflow})
	return e.Wait, e.Known
}

// liveItem is GET /items/{item}/live: the numbers and the charts of one item as they change.
func (c *Console) liveItem(p *page) error {
	item, err := p.itemOf()
	if err != nil {
		return err
	}
	p.Section = "items"
	var flow flow
	began := false
	return p.live(time.Second, func(s *stream) error {
		r := c.o.Readings.Look(p.gin.Request.Context(), item)
		b := c.bodyOf(p, item, r)
		for _, part := range []string{"item-head", "item-tiles", "item-deeds", "item-now"} {
			html, err := p.part("item", part, b)
			if err != nil {
				return err
			}
			s.fragment(part, html)
		}
		if !began {
			began = true
			s.event("hour", columns(c.o.Readings.Hour(item)))
		}
		s.event("point", pointOf(b, r, flow.add(r)))
		return nil
	})
}

// flow measures the inflow of the last seconds from readings.
type flow struct{ last []live.Reading }

// flowSpan is the span that flow measures over.
const flowSpan = 5 * time.Second

// add takes in a reading and gives the people let in per second over the last five seconds; -1 = not known.
func (f *flow) add(r live.Reading) float64 {
	if n := len(f.last); n > 0 && (f.last[n-1].Header.Generation != r.Header.Generation || r.Counts.Admitted < f.last[n-1].Counts.Admitted) {
		f.last = nil
	}
	f.last = append(f.last, r)
	for len(f.last) > 2 && r.At.Sub(f.last[1].At) >= flowSpan {
		f.last = f.last[1:]
	}
	span := r.At.Sub(f.last[0].At).Seconds()
	if !r.Live || !r.Header.On() || span <= 0 {
		return -1
	}
	return float64(r.Counts.Admitted-f.last[0].Counts.Admitted) / span
}

// point is one sample of the charts; null = not known.
type point struct {
	T       float64  `json:"t"` // unix seconds
	Waiting *float64 `json:"waiting"`
	Running *float64 `json:"running"`
	Set     *float64 `json:"set"`
	Real    *float64 `json:"real"`
	Traffic *float64 `json:"traffic"`
}

func pointOf(b itemBody, r live.Reading, in float64) point {
	p := point{T: float64(r.At.UnixMilli()) / 1000, Real: known(in), Traffic: known(math.Round(r.Requests))}
	if r.Live {
		p.Waiting, p.Running = known(float64(b.Waiting)), known(float64(b.Running))
	}
	if b.On {
		p.Set = known(b.Set)
	}
	return p
}

func known(v float64) *float64 {
	if v < 0 {
		return nil
	}
	v = math.Round(v*100) / 100
	return &v
}

// hourColumns are the samples of the last hour by name.
type hourColumns struct {
	T       []float64  `json:"t"`
	Waiting []*float64 `json:"waiting"`
	Running []*float64 `json:"running"`
	Set     []*float64 `json:"set"`
	Real    []*float64 `json:"real"`
	Traffic []*float64 `json:"traffic"`
}

// gap is how far apart two samples are at the most; beyond it the line is broken.
const gap = 95 * time.Second

func columns(samples []live.Sample) hourColumns {
	var h hourColumns
	h.T = []float64{}
	for i, s := range samples {
		if i > 0 && s.AtMS-samples[i-1].AtMS > gap.Milliseconds() {
			h.add(float64(samples[i-1].AtMS+1)/1000, -1, -1, -1, -1, -1)
		}
		set := float64(s.Set)
		if s.State == queue.Off {
			set = -1
		}
		h.add(float64(s.AtMS)/1000, float64(s.Waiting), float64(s.Running), set, float64(s.In), float64(s.Requests))
	}
	return h
}

func (h *hourColumns) add(t, waiting, running, set, in, traffic float64) {
	h.T = append(h.T, t)
	h.Waiting, h.Running = append(h.Waiting, known(waiting)), append(h.Running, known(running))
	h.Set, h.Real, h.Traffic = append(h.Set, known(set)), append(h.Real, known(in)), append(h.Traffic, known(traffic))
}

// history is the past of one item, drawn.
type history struct {
	Rows  []sqlstore.Activation
	Drawn []historyBar
	From  time.Time
	To    time.Time
}

// historyBar is one activation in the drawing, which is 1000 wide and 80 high.
type historyBar struct {
	X, Y, W, H float64
	Now        bool
	sqlstore.Activation
}

const (
	historySpan = 30 * 24 * time.Hour
	historyRows = 8
)

// history reads the activations of the last thirty days.
func (c *Console) history(p *page, item queue.Item) (history, error) {
	now := c.o.Clock.Now()
	h := history{From: now.Add(-historySpan), To: now}
	rows, err := c.o.Store.Activations(p.gin.Request.Context(), sqlstore.HistoryFilter{Item: item, From: h.From, Most: 200})
	if err != nil {
		return h, err
	}
	h.Rows = rows[:min(len(rows), historyRows)]
	var most int64
	for _, a := range rows {
		most = max(most, admitted(a))
	}
	for _, a := range rows {
		if a.Reason == sqlstore.Missed {
			continue // there is nothing to draw
		}
		end := a.ReleasedAt
		if end.IsZero() {
			end = now
		}
		w := max(5, 1000*end.Sub(a.ActivatedAt).Seconds()/historySpan.Seconds())
		x := 1000 * a.ActivatedAt.Sub(h.From).Seconds() / historySpan.Seconds()
		high := 14 + 60*float64(admitted(a))/float64(max(1, most))
		h.Drawn = append(h.Drawn, historyBar{
			X: min(x, 1000-w), W: w, Y: 80 - high, H: high, Now: a.ReleasedAt.IsZero(), Activation: a,
		})
	}
	return h, nil
}

func admitted(a sqlstore.Activation) int64 {
	if a.Counts == nil {
		return 0
	}
	return a.Counts.Admitted
}

// Lasted is how long a queue was on, until now where it still is.
func (p *page) Lasted(a sqlstore.Activation) time.Duration {
	end := a.ReleasedAt
	if end.IsZero() {
		end = p.c.o.Clock.Now()
	}
	return end.Sub(a.ActivatedAt)
}

// Cause says in words what turned a queue on.
func (p *page) Cause(cause queue.Cause, by string) string {
	id := "cause." + string(cause)
	if !p.Has(id) {
		return cmp.Or(by, string(cause))
	}
	if trigger := "trigger." + by; cause == queue.ByDetector && p.Has(trigger) {
		by = p.Text(trigger)
	}
	if cause == queue.BySale { // its id and its time stand behind the name
		if at := strings.LastIndex(by, " ("); at > 0 {
			by = by[:at]
		}
	}
	return p.Text(id, "by", by)
}
