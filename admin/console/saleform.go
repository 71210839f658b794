package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/scheduler/sale"
)

// saleForm is a sale as a form shows and sends it: each field a text, times as the clocks of the sale's zone show them.
// Beside a time that is in doubt stands, under its name and ".reading", the instant that is meant.
type saleForm map[string]string

// wallLayout is how a form writes a local time.
const wallLayout = "2006-01-02T15:04:05.999"

// saleTimes are the fields that hold a time.
var saleTimes = []string{"prequeue_at", "opens_at", "closes_at"}

// repeats are the choices of the field.
var repeats = []string{"once", "daily", "weekdays", "weekly", "monthly", "cron"}

// overrideFields are the policy fields that the form overrides: those of marketing, or all that are numbers.
func overrideFields(all bool) []string {
	names := []string{"inflow_per_second", "max_waiting", "order"}
	if all {
		for _, n := range queue.Numbers() {
			if !slices.Contains(names, n.Field) {
				names = append(names, n.Field)
			}
		}
	}
	for _, lang := range queue.PageLanguages {
		names = append(names, "wait_page.title."+lang, "wait_page.message."+lang)
	}
	return names
}

// saleFields lists the names of the form, in order.
func saleFields() []string {
	names := append([]string{"name", "item", "time_zone"}, saleTimes...)
	names = append(names, "repeat", "cron", "ramp")
	for _, name := range overrideFields(true) {
		names = append(names, overridden+name)
	}
	return names
}

// saleFormOf writes a sale into a form.
func saleFormOf(f sale.Form) saleForm {
	out := saleForm{"name": f.Name, "item": string(f.Item), "repeat": "once"}
	zone := time.UTC
	if f.TimeZone != nil {
		out["time_zone"] = *f.TimeZone
		if z, err := sale.Zone(*f.TimeZone); err == nil {
			zone = z
		}
	}
	for field, text := range map[string]*string{"prequeue_at": f.PrequeueAt, "opens_at": &f.OpensAt, "closes_at": f.ClosesAt} {
		if text == nil {
			continue
		}
		t, err := time.Parse(time.RFC3339Nano, *text)
		if err != nil {
			continue // a form of a sale that was read holds instants
		}
		out[field] = t.In(zone).Format(wallLayout)
		if _, doubtful := sale.Doubtful(out[field], zone); doubtful {
			out[field+".reading"] = t.In(zone).Format(time.RFC3339Nano)
		}
	}
	if f.Repeat != nil {
		out["repeat"], out["cron"] = "cron", *f.Repeat
		for _, name := range repeats[1:] {
			if name != "cron" && cronOf(name, out["opens_at"]) == *f.Repeat {
				out["repeat"], out["cron"] = name, ""
			}
		}
	}
	var ramp []string
	for _, r := range f.Ramp {
		ramp = append(ramp, fmt.Sprintf("%d %s", r.AfterSeconds, strconv.FormatFloat(r.InflowPerSecond, 'f', -1, 64)))
	}
	out["ramp"] = strings.Join(ramp, "\n")
	over := overridesOf(f.Overrides)
	for _, name := range overrideFields(true) {
		out[overridden+name] = over.text(name)
	}
	return out
}

// values gives the form as it would be sent.
func (f saleForm) values() url.Values {
	v := url.Values{}
	for name, text := range f {
		v.Set(name, text)
	}
	return v
}

// cronOf is the expression of a named repeat, from what the clocks show at the first opening; "" where that is no time.
func cronOf(name, opens string) string {
	w, err := time.Parse(wallLayout, opens)
	if err != nil {
		if w, err = time.Parse("2006-01-02T15:04", opens); err != nil {
			return ""
		}
	}
	at := fmt.Sprintf("%d %d", w.Minute(), w.Hour())
	switch name {
	case "daily":
		return at + " * * *"
	case "weekdays":
		return at + " * * 1-5"
	case "weekly":
		return fmt.Sprintf("%s * * %d", at, w.Weekday())
	case "monthly":
		return fmt.Sprintf("%s %d * *", at, w.Day())
	}
	return ""
}

// readSale is what a form has said.
type readSale struct {
	form   saleForm
	sale   sale.Form
	plan   *sale.Plan // nil where there are faults
	faults map[string]string
	doubts map[string]doubt // by field
}

// doubt is a question which instant a local time means.
type doubt struct {
	sale.Doubt
	Field  string
	Key    string // of the question: another time or zone asks another one
	Chosen string // the reading that was chosen, "" = none yet
}

// Reading is a choice as a form sends it.
func (d doubt) Reading(i int) string { return d.Readings[i].Format(time.RFC3339Nano) }

// readSaleForm reads what was sent, over the sale as it was; what the role may not change stays as it was.
func (p *page) readSaleForm(sent url.Values, id string, was sale.Form) readSale {
	r := readSale{form: saleFormOf(was), sale: was, faults: map[string]string{}, doubts: map[string]doubt{}}
	for _, name := range append(saleFields(), "prequeue_at.reading", "opens_at.reading", "closes_at.reading") {
		if sent.Has(name) {
			r.form[name] = strings.TrimSpace(strings.ReplaceAll(sent.Get(name), "\r\n", "\n"))
		}
	}
	if sent.Has("ramp_after") {
		r.form["ramp"] = rampText(sent["ramp_after"], sent["ramp_inflow"])
	}
	r.readWhat(p)
	r.readTimes(p)
	r.readRamp(p)
	r.readOverrides(p)
	if len(r.faults) > 0 {
		return r
	}
	plan, err := r.sale.Plan(id)
	if err != nil {
		r.refuse(p, err)
		return r
	}
	r.plan = plan
	return r
}

func (r *readSale) readWhat(p *page) {
	if r.sale.Name = r.form["name"]; r.sale.Name == "" {
		r.faults["name"] = p.Text("fault.sale_name")
	}
	r.sale.Item = queue.Pattern(r.form["item"])
	if _, err := queue.ParsePattern(r.form["item"]); err != nil {
		r.faults["item"] = p.Text("fault.sale_item")
	}
	if !slices.Contains(repeats, r.form["repeat"]) {
		r.faults["repeat"] = p.Text("fault.sale_cron")
	}
	cron := r.form["cron"]
	if r.form["repeat"] != "cron" {
		cron = cronOf(r.form["repeat"], r.form["opens_at"])
	}
	r.sale.Repeat = nil
	if r.form["repeat"] != "once" && (cron != "" || r.form["repeat"] == "cron") {
		r.sale.Repeat = &cron
	}
}

func (r *readSale) readTimes(p *page) {
	zone, err := sale.Zone(r.form["time_zone"])
	if err != nil {
		r.faults["time_zone"] = p.Text("fault.sale_zone")
		return
	}
	name := r.form["time_zone"]
	r.sale.TimeZone = &name
	at := map[string]*string{}
	for _, field := range saleTimes {
		text := r.form[field]
		if text == "" {
			continue
		}
		if d, doubtful := sale.Doubtful(text, zone); doubtful {
			q := doubt{Doubt: d, Field: field, Key: text + "|" + name}
			for i := range d.Readings {
				if q.Reading(i) == r.form[field+".reading"] {
					q.Chosen = q.Reading(i)
				}
			}
			r.doubts[field] = q
			if text = q.Chosen; text == "" {
				r.faults[field] = p.DoubtText(q)
				continue
			}
		}
		at[field] = &text
	}
	r.sale.PrequeueAt, r.sale.ClosesAt, r.sale.OpensAt = at["prequeue_at"], at["closes_at"], ""
	if at["opens_at"] != nil {
		r.sale.OpensAt = *at["opens_at"]
	}
	if r.form["opens_at"] == "" {
		r.faults["opens_at"] = p.Text("fault.sale_time")
	}
}

// SaleFields are the fields of a sale, in order.
func (p *page) SaleFields() []string { return saleFields() }

// ReadingText names an instant that may be meant, with its offset and as the reader's clocks show it.
func (p *page) ReadingText(t time.Time) string {
	return p.Text("sale.reading", "local", t.Format("15:04 (UTC-07:00)"), "utc", t.UTC().Format("2006-01-02 15:04"))
}

// DoubtText asks the question.
func (p *page) DoubtText(d doubt) string {
	if d.Twice {
		return p.Text("fault.twice")
	}
	return p.Text("fault.gap")
}

// rampText writes the rows of the form that are not empty, one a line.
func rampText(after, inflow []string) string {
	var lines []string
	for i := range after {
		a, n := strings.TrimSpace(after[i]), ""
		if i < len(inflow) {
			n = strings.TrimSpace(inflow[i])
		}
		if a != "" || n != "" {
			lines = append(lines, a+" "+n)
		}
	}
	return strings.Join(lines, "\n")
}

func (r *readSale) readRamp(p *page) {
	r.sale.Ramp = []sale.RampStep{}
	for _, row := range rampRows(r.form["ramp"]) {
		after, err := strconv.ParseInt(row.After, 10, 64)
		n, bad := strconv.ParseFloat(row.Inflow, 64)
		if err != nil || bad != nil || after < 0 || !(n >= 0 && n <= queue.MaxNumber) {
			r.faults["ramp"] = p.Text("fault.ramp")
			return
		}
		r.sale.Ramp = append(r.sale.Ramp, sale.RampStep{AfterSeconds: after, InflowPerSecond: n + 0})
	}
}

// rampRow is a row of the form.
type rampRow struct{ After, Inflow string }

func rampRows(text string) []rampRow {
	var rows []rampRow
	for line := range strings.Lines(text) {
		after, inflow, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		rows = append(rows, rampRow{after, inflow})
	}
	return rows
}

func (r *readSale) readOverrides(p *page) {
	over := overridesOf(r.sale.Overrides)
	for _, name := range overrideFields(p.May("operator")) {
		text := r.form[overridden+name]
		if text == over.text(name) {
			continue
		}
		i := slices.IndexFunc(queue.Numbers(), func(n queue.Number) bool { return n.Field == name })
		if i >= 0 && text != "" {
			n := queue.Numbers()[i]
			v, err := strconv.ParseFloat(text, 64)
			if err != nil || !n.Fits(v) {
				r.faults[overridden+name] = p.rangeFault(n)
				continue
			}
			over.put(name, v+0)
			continue
		}
		if text == "" {
			over.drop(name)
			continue
		}
		over.put(name, text)
	}
	r.sale.Overrides = over.json()
}

// refuse finds the field that an error names.
func (r *readSale) refuse(p *page, err error) {
	detail := p.detail(err)
	field, rest, _ := strings.Cut(detail, " ")
	field = strings.TrimSuffix(field, ":")
	if field == "overrides" {
		field, rest, _ = strings.Cut(rest, " ")
		field = overridden + field
	}
	if name, _, is := strings.Cut(field, "["); is { // ramp[1].after_seconds
		field, rest = name, detail
	}
	switch {
	case field == "repeat":
		field, rest = "cron", p.Text("fault.sale_cron")
		if r.form["repeat"] != "cron" {
			field = "repeat"
		}
	case field == "prequeue_at" && strings.Contains(rest, "before opens_at"):
		rest = p.Text("fault.sale_prequeue")
	case field == "closes_at" && strings.Contains(rest, "after opens_at"):
		rest = p.Text("fault.sale_closes")
	case field == "opens_at" && strings.Contains(rest, "in the future"):
		rest = p.Text("fault.sale_past")
	case p.Has("fault.of." + field):
		rest = p.Text("fault.of." + field)
	}
	if !slices.Contains(saleFields(), field) {
		field, rest = cmp.Or(map[string]string{"sale_overlap": "opens_at", "mode_fixed": "item"}[fault.Code(err)], "name"), p.faultText(err)
	}
	r.faults[field] = rest
}

// overrides are the policy fields of a sale, by name.
type overrides map[string]json.RawMessage

func overridesOf(body json.RawMessage) overrides {
	var o overrides
	if _ = json.Unmarshal(body, &o); o == nil { // checked when the sale was made; null and nothing are none
		o = overrides{}
	}
	return o
}

// within gives the object that a name of parts leads to, and the last part.
func (o overrides) within(name string) (overrides, string, []string) {
	parts := strings.Split(name, ".")
	at := o
	for _, part := range parts[:len(parts)-1] {
		at = overridesOf(at[part])
	}
	return at, parts[len(parts)-1], parts[:len(parts)-1]
}

// text gives a field as a form has it; "" where it is not overridden.
func (o overrides) text(name string) string {
	at, last, _ := o.within(name)
	raw, there := at[last]
	if !there {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

func (o overrides) put(name string, v any) {
	o.set(name, func(at overrides, last string) { at[last], _ = json.Marshal(v) })
}

func (o overrides) drop(name string) {
	o.set(name, func(at overrides, last string) { delete(at, last) })
}

// set changes a field; what is empty then goes.
func (o overrides) set(name string, change func(at overrides, last string)) {
	first, rest, deeper := strings.Cut(name, ".")
	if !deeper {
		change(o, name)
		return
	}
	inner := overridesOf(o[first])
	inner.set(rest, change)
	if delete(o, first); len(inner) > 0 {
		o[first] = inner.json()
	}
}

func (o overrides) json() json.RawMessage {
	raw, _ := json.Marshal(o) // texts that were JSON: cannot fail
	return raw
}
