package console

import (
	"cmp"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/admin/live"
	"github.com/sluicehq/sluice/queue"
)

// rowsAPage is how many items the overview shows at once.
const rowsAPage = 50

// risingFrom is the share of the trigger from which an item without a queue is shown.
const risingFrom = 0.2

// overviewBody is what the overview shows.
type overviewBody struct {
	Query  overviewQuery
	Rows   []row
	Found  int // items that fit the query
	First  int // number of the first row, from 1
	Last   int
	Counts map[string]int // items of each state
	On     int
	Line   int64  // people who wait, in all lines
	Open   string // an item that the search names exactly and that is not among the rows
}

// row is one item of the overview.
type row struct {
	Item     queue.Item
	State    string // of the queue; draining, rising
	Live     bool
	On       bool
	Waiting  int64
	Running  int64
	Finished int64
	Requests float64 // -1 = not known
	Trigger  int64
	Share    float64 // of the trigger
	Set      float64
	In       float64 // -1 = not known
	Spark    spark
}

// overviewQuery is what the reader asked the overview for.
type overviewQuery struct {
	Q, State, Sort string
	Up             bool // ascending
	Page           int  // from 1
}

// sorts are the columns, each with the order of the rows; ascending.
var sorts = map[string]func(a, b row) int{
	"item":     func(a, b row) int { return cmp.Compare(a.Item, b.Item) },
	"state":    func(a, b row) int { return cmp.Compare(a.State, b.State) },
	"waiting":  func(a, b row) int { return cmp.Compare(a.Waiting, b.Waiting) },
	"running":  func(a, b row) int { return cmp.Compare(a.Running, b.Running) },
	"finished": func(a, b row) int { return cmp.Compare(a.Finished, b.Finished) },
	"traffic":  func(a, b row) int { return cmp.Compare(a.Share, b.Share) },
	"inflow":   func(a, b row) int { return cmp.Compare(a.Set, b.Set) },
}

// states are the choices of the filter.
var states = []string{"", "on", "rising", "prequeue", "open", "draining", "paused", "closed"}

func readOverviewQuery(v url.Values) overviewQuery {
	q := overviewQuery{Q: strings.TrimSpace(v.Get("q")), State: v.Get("state"), Sort: v.Get("sort"), Up: v.Get("order") == "up"}
	if !slices.Contains(states, q.State) {
		q.State = ""
	}
	if sorts[q.Sort] == nil {
		q.Sort, q.Up = "waiting", false
	}
	q.Page, _ = strconv.Atoi(v.Get("page"))
	q.Page = max(1, q.Page)
	return q
}

// Encode writes the query of an address, without what goes without saying. It is encoded: a template must not do so again.
func (q overviewQuery) Encode() template.URL {
	v := url.Values{}
	set := func(name, value, usual string) {
		if value != usual {
			v.Set(name, value)
		}
	}
	set("q", q.Q, "")
	set("state", q.State, "")
	set("sort", q.Sort, "waiting")
	if q.Up {
		v.Set("order", "up")
	}
	set("page", strconv.Itoa(q.Page), "1")
	return template.URL(v.Encode())
}

// By gives the query of a click on a column: sorted by it, the other way round where it is already.
func (q overviewQuery) By(column string) template.URL {
	q.Up = q.Sort == column && !q.Up || q.Sort != column && column == "item"
	q.Sort, q.Page = column, 1
	return q.Encode()
}

// Order is aria-sort of a column, "" where the rows are sorted by another.
func (q overviewQuery) Order(column string) string {
	switch {
	case q.Sort != column:
		return ""
	case q.Up:
		return "ascending"
	}
	return "descending"
}

// To gives the query of another page.
func (q overviewQuery) To(page int) template.URL {
	q.Page = page
	return q.Encode()
}

// overview is GET /: every item with a queue or rising traffic.
func (c *Console) overview(p *page) error {
	p.Section, p.Title = "items", p.Text("overview.title")
	p.Body = c.overviewBody(readOverviewQuery(p.gin.Request.URL.Query()))
	return p.show(http.StatusOK, "overview")
}

func (c *Console) overviewBody(q overviewQuery) overviewBody {
	b := overviewBody{Query: q, Counts: map[string]int{}}
	var rows []row
	for _, r := range c.o.Readings.All() {
		w := c.row(r)
		if !w.On && w.Share < risingFrom {
			continue
		}
		b.Counts[w.State]++
		if w.On {
			b.On++
			b.Line += w.Waiting
		}
		if q.fits(w) {
			rows = append(rows, w)
		}
	}
	b.Counts[""], b.Counts["on"] = b.On+b.Counts["rising"], b.On
	by := sorts[q.Sort]
	slices.SortStableFunc(rows, func(a, b row) int { // they come by item
		if q.Up {
			return by(a, b)
		}
		return by(b, a)
	})
	b.Found = len(rows)
	last := max(1, (len(rows)+rowsAPage-1)/rowsAPage)
	b.Query.Page = min(q.Page, last)
	from := (b.Query.Page - 1) * rowsAPage
	b.Rows = rows[from:min(from+rowsAPage, len(rows))]
	b.First, b.Last = min(from+1, len(rows)), from+len(b.Rows)
	for i := range b.Rows {
		b.Rows[i].Spark = newSpark(c.o.Readings.Hour(b.Rows[i].Item), c.o.Clock.Now())
	}
	if item, err := queue.ParseItem(q.Q); err == nil && !slices.ContainsFunc(b.Rows, func(r row) bool { return r.Item == item }) {
		b.Open = string(item)
	}
	return b
}

func (q overviewQuery) fits(r row) bool {
	switch q.State {
	case "":
	case "on":
		if !r.On {
			return false
		}
	default:
		if r.State != q.State {
			return false
		}
	}
	return strings.Contains(strings.ToLower(string(r.Item)), strings.ToLower(q.Q))
}

func (c *Console) row(r live.Reading) row {
	h := r.Header
	_, policy := c.o.Settings.Now().For(h.Item)
	w := row{
		Item: h.Item, State: stateWord(h), Live: r.Live, On: h.On(), Waiting: r.Counts.Waiting, Running: r.Counts.Running,
		Finished: r.Counts.Finished, Requests: math.Round(r.Requests), Trigger: policy.TriggerRequests, Set: policy.InflowPerSecond, In: -1,
	}
	if w.Trigger > 0 && r.Requests > 0 {
		w.Share = r.Requests / float64(w.Trigger)
	}
	if w.On {
		w.Set, w.In = h.Inflow, r.In
	} else {
		w.State = "rising"
	}
	return w
}

// stateWord is the state as it is shown: an open queue that refuses newcomers drains.
func stateWord(h queue.Header) string {
	if h.Draining && h.State == queue.Open {
		return "draining"
	}
	return h.State.String()
}
