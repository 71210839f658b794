package console

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/admin"
	"github.com/sluicehq/sluice/internal/locale"
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
)

// page is what every template gets: who reads it, in which language and zone, and the page's own Body.
type page struct {
	*locale.Words
	c    *Console
	gin  *gin.Context
	Who  admin.Identity
	Zone *time.Location
	// Theme is light, dark, or "" for what the reader's system says.
	Theme   string
	Section string // of the menu
	Title   string
	Body    any
	Done    *done // what has just been done, with the way back
}

// The cookies that keep a reader's choices. The script writes the zone.
const (
	langCookie  = "sluice_lang"
	themeCookie = "sluice_theme"
	zoneCookie  = "sluice_zone"
)

func (c *Console) newPage(g *gin.Context) *page {
	p := &page{
		c: c, gin: g, Zone: time.UTC,
		Words: c.words.Choose(g.GetHeader("Accept-Language"), g.Query("lang"), cookie(g, langCookie)),
	}
	if theme := cookie(g, themeCookie); theme == "light" || theme == "dark" {
		p.Theme = theme
	}
	if zone, err := time.LoadLocation(cookie(g, zoneCookie)); err == nil && zone.String() != "Local" {
		p.Zone = zone
	}
	return p
}

func cookie(g *gin.Context, name string) string {
	k, err := g.Request.Cookie(name)
	if err != nil {
		return ""
	}
	v, err := url.QueryUnescape(k.Value)
	if err != nil {
		return ""
	}
	return v
}

// show answers with a page: the template of this name inside the layout.
func (p *page) show(status int, name string) error {
	t, ok := p.c.pages[name]
	if !ok {
		return fmt.Errorf("no page %s", name)
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "layout", p); err != nil {
		return fmt.Errorf("page %s: %w", name, err)
	}
	p.gin.Data(status, "text/html; charset=utf-8", b.Bytes())
	return nil
}

// part gives a part of a page, as the page itself shows it, with other content: for the live stream.
func (p *page) part(name, part string, body any) (string, error) {
	q := *p
	q.Body = body
	var b bytes.Buffer
	if err := p.c.pages[name].ExecuteTemplate(&b, part, &q); err != nil {
		return "", fmt.Errorf("part %s of page %s: %w", part, name, err)
	}
	return b.String(), nil
}

// redirect leads on after a write.
func (p *page) redirect(to string) error {
	p.gin.Redirect(http.StatusSeeOther, to)
	return nil
}

// on binds a value to the page, for templates that need both.
func on(p *page, v any) bound { return bound{p, v} }

type bound struct {
	*page
	V any
}

// With binds another value to the same page.
func (b bound) With(v any) bound { return bound{b.page, v} }

// May reports whether the reader's role reaches one.
func (p *page) May(least string) bool { return p.Who.May(sqlstore.Role(least)) }

// Asset is the address of a file of the console.
func (p *page) Asset(name string) string { return p.c.assets.address(name) }

// Switch is the position of the switch over all items.
func (p *page) Switch() settings.Switch { return p.c.o.Settings.Now().Switch() }

// StoreDown reports that the store of the lines cannot be reached.
func (p *page) StoreDown() bool { return !p.c.o.StoreUp() }

// Languages are those the console speaks.
func (p *page) Languages() []*locale.Words { return p.c.words.All() }

// Here is the address of this page, to come back to.
func (p *page) Here() string { return p.gin.Request.URL.RequestURI() }

// ZoneName is the zone that times are shown in.
func (p *page) ZoneName() string { return p.Zone.String() }

// When writes an instant in the reader's zone: the date too, unless it is today.
func (p *page) When(t time.Time) string {
	t = t.In(p.Zone)
	now := p.c.o.Clock.Now().In(p.Zone)
	if t.Year() == now.Year() && t.YearDay() == now.YearDay() {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04:05")
}

// Full writes an instant with date and zone.
func (p *page) Full(t time.Time) string { return t.In(p.Zone).Format("2006-01-02 15:04:05 MST") }

// ISO writes an instant for machines.
func (p *page) ISO(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Num writes a number.
func (p *page) Num(v any) string {
	switch n := v.(type) {
	case int:
		return p.Number(float64(n))
	case int64:
		return p.Number(float64(n))
	case float64:
		return p.Number(n)
	}
	return fmt.Sprint(v)
}

// Span writes a length of time with its two largest units.
func (p *page) Span(d time.Duration) string {
	s := int64(math.Round(d.Seconds()))
	switch {
	case s < 0:
		return p.Span(-d)
	case s < 60:
		return p.Text("span.seconds", "s", s)
	case s < 3600 && s%60 == 0:
		return p.Text("span.minutes", "m", s/60)
	case s < 3600:
		return p.Text("span.minutes_seconds", "m", s/60, "s", s%60)
	case s < 86400:
		return p.Text("span.hours_minutes", "h", s/3600, "m", s%3600/60)
	}
	return p.Text("span.days_hours", "d", s/86400, "h", s%86400/3600)
}

// Seconds is Span of a number of seconds.
func (p *page) Seconds(s int64) string { return p.Span(time.Duration(s) * time.Second) }

// Millis is Span of a number of milliseconds.
func (p *page) Millis(ms int64) string { return p.Span(time.Duration(ms) * time.Millisecond) }

// Milli is the instant of unix milliseconds; zero for 0.
func (p *page) Milli(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// Arrived is the instant that a score in line stands for.
func (p *page) Arrived(score int64) time.Time { return queue.ScoreTime(score) }

// Day writes a date.
func (p *page) Day(t time.Time) string { return t.In(p.Zone).Format("2006-01-02") }
