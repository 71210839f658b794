package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/scheduler/sale"
)

const (
	// shownADay is how many openings a day of the calendar shows; the rest unfolds.
	shownADay = 4
	// keptADay bounds what unfolds; past it the day only counts.
	keptADay = 50
	// countedOf bounds how many times of one sale a month counts.
	countedOf = 2000
)

// calendarBody is one month of sales, in the reader's zone.
type calendarBody struct {
	Month        time.Time // its first day
	Before, Next string    // YYYY-MM
	Days         []calendarDay
	Names        []time.Weekday
	Empty        bool
}

// calendarDay is one day, with what opens on it.
type calendarDay struct {
	Day          time.Time
	Other, Today bool // of another month; the day of now
	Sales        []calendarEntry
	More         []calendarEntry
	All          int
}

// Left is how many openings of the day are not shown at once.
func (d calendarDay) Left() int { return d.All - len(d.Sales) }

// calendarEntry is one opening.
type calendarEntry struct {
	ID, Name string
	Opens    time.Time
	Phase    string
}

// saleCalendar is GET /sales/calendar?month=YYYY-MM: a month's openings by day. Without a month, or with one that is
// none, that of now.
func (c *Console) saleCalendar(p *page) error {
	now := c.o.Clock.Now().In(p.Zone)
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, p.Zone)
	if asked, err := time.ParseInLocation("2006-01", p.gin.Query("month"), p.Zone); err == nil && asked.Year() >= 2000 && asked.Year() < 2200 {
		month = asked
	}
	b := newMonth(month, now, p.Text("calendar.starts") == "sunday")
	b.Empty = true
	for _, plan := range c.o.Settings.Now().Sales().Plans() {
		if b.put(plan, now) {
			b.Empty = false
		}
	}
	for i := range b.Days {
		d := &b.Days[i]
		slices.SortStableFunc(d.More, func(x, y calendarEntry) int { return cmp.Or(x.Opens.Compare(y.Opens), cmp.Compare(x.Name, y.Name)) })
		n := min(shownADay, len(d.More))
		d.Sales, d.More = d.More[:n], d.More[n:]
	}
	p.Section, p.Title, p.Body = "sales", p.Text("sales.title")+" · "+p.MonthName(month), b
	return p.show(http.StatusOK, "sales_calendar")
}

// newMonth gives the weeks of a month.
func newMonth(month, now time.Time, sunday bool) calendarBody {
	first := time.Monday
	if sunday {
		first = time.Sunday
	}
	b := calendarBody{Month: month, Before: month.AddDate(0, -1, 0).Format("2006-01"), Next: month.AddDate(0, 1, 0).Format("2006-01")}
	for i := range 7 {
		b.Names = append(b.Names, (first+time.Weekday(i))%7)
	}
	end := month.AddDate(0, 1, 0)
	for day := month.AddDate(0, 0, -int(month.Weekday()-first+7)%7); day.Before(end) || day.Weekday() != first; day = day.AddDate(0, 0, 1) {
		b.Days = append(b.Days, calendarDay{Day: day, Other: day.Month() != month.Month(), Today: day.Format(time.DateOnly) == now.Format(time.DateOnly)})
	}
	return b
}

// put enters the openings of a sale, and tells whether any fell into the month's weeks.
func (b *calendarBody) put(plan *sale.Plan, now time.Time) (any bool) {
	from, until := b.Days[0].Day, b.Days[len(b.Days)-1].Day.AddDate(0, 0, 1)
	byDay := map[string]*calendarDay{}
	for i := range b.Days {
		byDay[b.Days[i].Day.Format(time.DateOnly)] = &b.Days[i]
	}
	o, ok := plan.At(from.UnixMilli())
	for n := 0; ok && n < countedOf; n++ {
		opens := time.UnixMilli(o.OpensMS).In(from.Location())
		if !opens.Before(until) {
			return any
		}
		if d := byDay[opens.Format(time.DateOnly)]; d != nil && !opens.Before(from) {
			any, d.All = true, d.All+1
			if len(d.More) < keptADay {
				d.More = append(d.More, calendarEntry{plan.ID, plan.Name, opens, phaseOf(o, now)})
			}
		}
		o, ok = plan.Next(o)
	}
	return any
}

// phaseOf is what an occurrence is at an instant.
func phaseOf(o sale.Occurrence, now time.Time) string {
	ms := now.UnixMilli()
	switch {
	case o.EndMS != 0 && o.EndMS <= ms:
		return "over"
	case o.OpensMS <= ms:
		return "open"
	case o.StartMS() <= ms:
		return "prequeue"
	}
	return "planned"
}

// MonthName writes a month with its year.
func (p *page) MonthName(t time.Time) string {
	return p.Text("calendar.month", "month", p.Text("month."+strings.ToLower(t.Month().String())), "year", t.Format("2006"))
}

// DayName writes a weekday.
func (p *page) DayName(d time.Weekday) string {
	return p.Text("weekday." + strings.ToLower(d.String()))
}
