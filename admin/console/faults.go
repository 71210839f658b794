package console

import (
	"errors"
	"strings"

	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/scheduler/sale"
)

// detail is what an error may say to the reader, in English.
func (p *page) detail(err error) string { return problem.Of(err).Detail }

// faultText says an error in the reader's language: by its code and the field that it names, or by its code, where there
// are words for that; else as the API does.
func (p *page) faultText(err error) string {
	if clash := (*sale.Clash)(nil); errors.As(err, &clash) {
		return p.clashText(clash)
	}
	code, detail := fault.Code(err), p.detail(err)
	field, _, _ := strings.Cut(detail, " ")
	for _, id := range []string{"error." + code + "." + field, "error." + code} {
		if p.Has(id) {
			return p.Text(id)
		}
	}
	return detail
}

// clashText names the other sale that is on at a time, and when.
func (p *page) clashText(c *sale.Clash) string {
	from := p.There(momentOf(c.Other, c.StartMS()))
	if c.EndMS == 0 {
		return p.Text("fault.clash_endless", "name", c.Other.Name, "from", from)
	}
	return p.Text("fault.clash", "name", c.Other.Name, "from", from, "to", p.There(momentOf(c.Other, c.EndMS)))
}

// failure is what the page of an error says.
type failure struct {
	Status        int
	Title, Detail string
	RequestID     string
}

// fail answers an error and logs it: with a page, or with what stands in its place in the part that was asked for.
func (p *page) fail(err error) {
	g := p.gin
	if g.Writer.Written() {
		return
	}
	of, there := problem.Note(g, err)
	if !there {
		return
	}
	f := failure{Status: of.Status, Title: of.Title, Detail: of.Detail, RequestID: g.Writer.Header().Get(problem.RequestIDHeader)}
	if id := "error." + of.Code; p.Has(id) {
		f.Title = p.Text(id)
		if p.Lang != "en" {
			f.Detail = "" // says the same, or more, in English
		}
	}
	p.Title, p.Body, p.Section = f.Title, f, ""
	part := map[string]string{"dialog": "ask", "plan": "failed-plan", "says": "failed"}[g.GetHeader("HX-Target")]
	if part == "" {
		if shown := p.show(of.Status, "error"); shown != nil {
			problem.Answer(g, errors.Join(err, shown))
		}
		return
	}
	html, shown := p.part("error", part, f)
	if shown != nil {
		problem.Answer(g, errors.Join(err, shown))
		return
	}
	g.Data(of.Status, "text/html; charset=utf-8", []byte(html))
}
