package console

import (
	"fmt"
	"maps"
	"net/url"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
)

// policyForm is a policy as a form shows and sends it: each field a text.
type policyForm map[string]string

// formFields lists the names of the form, in order.
func formFields() []string {
	names := []string{"mode", "order", "on_store_failure", "session_renewal", "return_origins", "allowed_origins"}
	for _, n := range queue.Numbers() {
		names = append(names, n.Field)
	}
	return append(names, pageFields()...)
}

// pageFields are those of the waiting page.
func pageFields() []string {
	var names []string
	for _, lang := range queue.PageLanguages {
		names = append(names, "wait_page.title."+lang, "wait_page.message."+lang)
	}
	for _, colour := range queue.ThemeColours {
		names = append(names, "wait_page.theme."+colour)
	}
	return append(names, "wait_page.logo_url", "wait_page.after_url", "wait_page.status")
}

// formOf writes a policy into a form.
func formOf(p queue.Policy) policyForm {
	f := policyForm{
		"mode": string(p.Mode), "order": string(p.Order), "on_store_failure": string(p.OnStoreFailure), "session_renewal": strconv.FormatBool(p.SessionRenewal),
		"return_origins": joinOrigins(p.ReturnOrigins), "allowed_origins": joinOrigins(p.AllowedOrigins),
		"wait_page.logo_url": p.WaitPage.LogoURL, "wait_page.after_url": p.WaitPage.AfterURL, "wait_page.status": strconv.Itoa(p.WaitPage.Status),
	}
	for _, n := range queue.Numbers() {
		f[n.Field] = strconv.FormatFloat(n.Of(p), 'f', -1, 64)
	}
	for prefix, texts := range map[string]map[string]string{"title": p.WaitPage.Title, "message": p.WaitPage.Message, "theme": p.WaitPage.Theme} {
		for k, v := range texts {
			f["wait_page."+prefix+"."+k] = v
		}
	}
	return f
}

// readPolicy is what a form has said.
type readPolicy struct {
	form   policyForm
	policy queue.Policy
}

// readForm reads what was sent, over the policy as it was; all false: the waiting page alone. Faults are by field.
func readForm(p *page, sent url.Values, was queue.Policy, all bool) (readPolicy, map[string]string) {
	r := readPolicy{form: formOf(was), policy: was}
	faults := map[string]string{}
	if all {
		r.readRules(p, sent, faults)
	}
	r.readPage(sent)
	return r, faults
}

// take gives what was sent for a field, and keeps it in the form.
func (r *readPolicy) take(sent url.Values, name string) (string, bool) {
	if !sent.Has(name) {
		return "", false
	}
	v := strings.TrimSpace(strings.ReplaceAll(sent.Get(name), "\r\n", "\n"))
	r.form[name] = v
	return v, true
}

func (r *readPolicy) readRules(p *page, sent url.Values, faults map[string]string) {
	for _, n := range queue.Numbers() {
		text, there := r.take(sent, n.Field)
		if !there {
			continue
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !n.Fits(v) {
			faults[n.Field] = p.rangeFault(n)
			continue
		}
		n.Set(&r.policy, v+0) // -0 is 0
	}
	if v, there := r.take(sent, "mode"); there {
		r.policy.Mode = queue.Mode(v)
	}
	if v, there := r.take(sent, "order"); there {
		r.policy.Order = queue.Order(v)
	}
	if v, there := r.take(sent, "on_store_failure"); there {
		r.policy.OnStoreFailure = queue.OnFailure(v)
	}
	if v, there := r.take(sent, "session_renewal"); there {
		r.policy.SessionRenewal = v == "true"
	}
	if v, there := r.take(sent, "return_origins"); there {
		r.policy.ReturnOrigins = originsOf(v)
	}
	if v, there := r.take(sent, "allowed_origins"); there {
		r.policy.AllowedOrigins = originsOf(v)
	}
}

func (r *readPolicy) readPage(sent url.Values) {
	w := r.policy.WaitPage
	w.Theme, w.Title, w.Message = cloneOf(w.Theme), cloneOf(w.Title), cloneOf(w.Message)
	put := func(texts map[string]string, prefix string, keys []string) {
		for _, k := range keys {
			v, there := r.take(sent, prefix+k)
			switch {
			case !there:
			case v == "":
				delete(texts, k)
			default:
				texts[k] = v
			}
		}
	}
	put(w.Title, "wait_page.title.", queue.PageLanguages)
	put(w.Message, "wait_page.message.", queue.PageLanguages)
	put(w.Theme, "wait_page.theme.", queue.ThemeColours)
	if v, there := r.take(sent, "wait_page.logo_url"); there {
		w.LogoURL = v
	}
	if v, there := r.take(sent, "wait_page.after_url"); there {
		w.AfterURL = v
	}
	if v, there := r.take(sent, "wait_page.status"); there {
		w.Status, _ = strconv.Atoi(v) // 0 is out of range, and named so
	}
	r.policy.WaitPage = w
}

func cloneOf(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return maps.Clone(m)
}

// originsOf reads one origin a line. One that is none stays as it is, for whoever checks the policy to name.
func originsOf(text string) []queue.Origin {
	origins := []queue.Origin{}
	for _, line := range strings.Fields(text) {
		var o queue.Origin
		if o.UnmarshalText([]byte(line)) != nil {
			o = queue.Origin(line)
		}
		origins = append(origins, o)
	}
	return origins
}

func joinOrigins(origins []queue.Origin) string {
	lines := make([]string, len(origins))
	for i, o := range origins {
		lines[i] = string(o)
	}
	return strings.Join(lines, "\n")
}

// formField is one field as a template draws it.
type formField struct {
	Name, Value, Fault string
	Range, Usual       string // "" = nothing to say
	Step, Min, Max     string
	Unit               string
	Choices            []string
}

// usual are the defaults.
var usual = formOf(queue.DefaultPolicy())

// Field gives one field of the form of a policy.
func (p *page) Field(b policyBody, name string) formField {
	f := formField{Name: name, Value: b.Form[name], Fault: b.Faults[name], Usual: usual[name]}
	for _, n := range queue.Numbers() {
		if n.Field != name {
			continue
		}
		f.Min, f.Max, f.Step = p.Plain(n.Min), p.Plain(n.Max), "any"
		if n.Whole {
			f.Step = "1"
		}
		f.Range = p.Text("field.range", "low", n.Min, "high", n.Max, "usual", n.Of(queue.DefaultPolicy()))
	}
	switch name {
	case "mode":
		f.Choices = []string{"auto", "on", "off"}
	case "order":
		f.Choices = []string{"fifo", "random"}
	case "on_store_failure":
		f.Choices = []string{"open", "closed"}
	case "session_renewal":
		f.Choices = []string{"true", "false"}
	case "wait_page.status":
		f.Choices = []string{"200", "202", "429", "503"}
	}
	if f.Choices != nil && name != "wait_page.status" {
		f.Range = p.Text("field.usual", "usual", p.Text("field."+name+"."+f.Usual))
	}
	return f
}

// overridden begins the names of a policy's fields where a sale overrides them.
const overridden = "overrides."

// Choice is the label of a choice of a field.
func (p *page) Choice(name, value string) string {
	name = strings.TrimPrefix(name, overridden)
	if value == "" {
		return p.Text("sale.as_policy")
	}
	if id := "field." + name + "." + value; p.Has(id) {
		return p.Text(id)
	}
	return value
}

// Label is the label of a field.
func (p *page) Label(name string) string {
	name = strings.TrimPrefix(name, overridden)
	if id := "field." + name + ".label"; p.Has(id) {
		return p.Text(id)
	}
	parts := strings.Split(name, ".") // wait_page.title.ko
	if len(parts) == 3 {
		return fmt.Sprintf("%s (%s)", p.Text("field."+parts[0]+"."+parts[1]+".label"), p.Choice(parts[0]+"."+parts[1], parts[2]))
	}
	return name
}

// rangeFault names the range of a number that was left.
func (p *page) rangeFault(n queue.Number) string {
	return p.Text("fault.range", "low", p.Plain(n.Min), "high", p.Plain(n.Max), "kind", p.kindOf(n))
}

func (p *page) kindOf(n queue.Number) string {
	if n.Whole {
		return p.Text("fault.whole")
	}
	return p.Text("fault.number")
}

// PageLanguages are the languages of the waiting page.
func (p *page) PageLanguages() []string { return queue.PageLanguages }

// FormFields are the fields of a policy, in order.
func (p *page) FormFields() []string { return formFields() }

// PageColours are the colours of the waiting page.
func (p *page) PageColours() []string { return queue.ThemeColours }

// lastChange finds who changed a policy or a sale last, and how; nil where nobody did.
func (c *Console) lastChange(p *page, kind, subject string) (*sqlstore.AuditEntry, error) {
	entries, err := c.o.Store.AuditLog(p.gin.Request.Context(), sqlstore.AuditFilter{Action: kind, Subject: subject, Most: 1})
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	return &entries[0], nil
}
