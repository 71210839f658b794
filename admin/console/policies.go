package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/admin"
	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
)

// policyLine is one policy in the list.
type policyLine struct {
	Pattern queue.Pattern
	Policy  queue.Policy
	Queues  int // of its items that are on
}

// policiesBody is the list of policies.
type policiesBody struct {
	Q     string
	Lines []policyLine
	paging
}

// paging is where a list stands.
type paging struct {
	Page, First, Last, All int
	path                   string
	query                  url.Values
}

// pageOf cuts one page out of a list.
func pageOf[T any](all []T, page int, path string, query url.Values) ([]T, paging) {
	last := max(1, (len(all)+rowsAPage-1)/rowsAPage)
	page = min(max(1, page), last)
	from := (page - 1) * rowsAPage
	part := all[from:min(from+rowsAPage, len(all))]
	return part, paging{Page: page, First: min(from+1, len(all)), Last: from + len(part), All: len(all), path: path, query: query}
}

// To is the address of another page of the list; "" where there is none.
func (g paging) To(page int) string {
	if page < 1 || page > (g.All+rowsAPage-1)/rowsAPage {
		return ""
	}
	v := url.Values{}
	for k, x := range g.query {
		if k != "page" && len(x) > 0 && x[0] != "" {
			v[k] = x
		}
	}
	if page > 1 {
		v.Set("page", strconv.Itoa(page))
	}
	return base + g.path + "?" + v.Encode()
}

// policies is GET /policies: the most specific first.
func (c *Console) policies(p *page) error {
	query := p.gin.Request.URL.Query()
	q := strings.TrimSpace(query.Get("q"))
	now := c.o.Settings.Now()
	patterns := slices.DeleteFunc(now.Patterns(), func(x queue.Pattern) bool {
		return !strings.Contains(strings.ToLower(string(x)), strings.ToLower(q))
	})
	slices.SortFunc(patterns, queue.Pattern.Compare)
	n, _ := strconv.Atoi(query.Get("page"))
	shown, at := pageOf(patterns, n, "/policies", query)
	b := policiesBody{Q: q, paging: at}
	for _, x := range shown {
		policy, _ := now.Policy(x)
		b.Lines = append(b.Lines, policyLine{Pattern: x, Policy: policy})
	}
	for _, r := range c.o.Readings.All() {
		if r.Header.On() {
			from, _ := now.For(r.Header.Item)
			if i := slices.IndexFunc(b.Lines, func(l policyLine) bool { return l.Pattern == from }); i >= 0 {
				b.Lines[i].Queues++
			}
		}
	}
	p.Section, p.Title, p.Body = "policies", p.Text("policies.title"), b
	return p.show(http.StatusOK, "policies")
}

// policyBody is the form of one policy.
type policyBody struct {
	Pattern  queue.Pattern
	New      bool
	Form     policyForm
	Base     string // the policy as it was when the form was made, as JSON
	ETag     string
	Faults   map[string]string // by field
	Fault    string            // of none
	Conflict []conflict        // fields that somebody else has changed meanwhile
	Changed  *sqlstore.AuditEntry
	Queues   int
	Waiting  int64
	Saved    bool
	All      bool // the reader may change every field, not the waiting page alone
}

// conflict is a field that somebody else has changed since the form was made.
type conflict struct {
	Field              string
	Was, Theirs, Yours string
	Both               bool // the reader has changed it too, otherwise
}

// patternOf reads the pattern of the query, since a pattern may hold what addresses do not take.
func (p *page) patternOf() (queue.Pattern, error) { return queue.ParsePattern(p.gin.Query("pattern")) }

func policyPath(pattern queue.Pattern) string {
	return base + "/policy?pattern=" + url.QueryEscape(string(pattern))
}

// policy is GET /policy?pattern=: the policy under a pattern; where there is none, the form of a new one, which starts
// from the policy in force for it.
func (c *Console) policy(p *page) error {
	if p.gin.Query("pattern") == "" {
		p.Section, p.Title, p.Body = "policies", p.Text("policies.new"), policyBody{New: true}
		return p.show(http.StatusOK, "policy_new")
	}
	pattern, err := p.patternOf()
	if err != nil {
		return err
	}
	now := c.o.Settings.Now()
	policy, there := now.Policy(pattern)
	if !there {
		_, policy = now.For(queue.Item(pattern))
	}
	b := c.policyBody(p, pattern, policy, there)
	b.Saved = p.gin.Query("done") == "saved"
	return p.showPolicy(http.StatusOK, b)
}

func (c *Console) policyBody(p *page, pattern queue.Pattern, policy queue.Policy, there bool) policyBody {
	raw, _ := json.Marshal(policy) // numbers, texts and lists: cannot fail
	b := policyBody{Pattern: pattern, New: !there, Form: formOf(policy), Base: string(raw), All: p.May("operator")}
	if there {
		b.ETag = admin.ETag(policy)
	}
	for _, r := range c.o.Readings.All() {
		if from, _ := c.o.Settings.Now().For(r.Header.Item); r.Header.On() && (from == pattern || !there && pattern.Match(r.Header.Item)) {
			b.Queues++
			b.Waiting += r.Counts.Waiting
		}
	}
	return b
}

func (p *page) showPolicy(status int, b policyBody) error {
	p.Section, p.Title, p.Body = "policies", string(b.Pattern), b
	return p.show(status, "policy")
}

// savePolicy is POST /policy?pattern=. What somebody else has saved since the form was made is not overwritten: the
// form comes back with both versions, and with what the two have not changed alike already put together.
func (c *Console) savePolicy(p *page) error {
	pattern, err := p.patternOf()
	if err != nil {
		return err
	}
	form := p.form()
	was := queue.DefaultPolicy()
	if err := json.Unmarshal([]byte(form.Get("base")), &was); err != nil {
		return problem.ErrInvalidBody.Because(err)
	}
	now, there := c.o.Settings.Now().Policy(pattern)
	if !there {
		now = was
	}
	b := c.policyBody(p, pattern, now, there)
	b.Base, b.ETag = form.Get("base"), form.Get("etag")
	yours, faults := readForm(p, form, was, b.All)
	b.Form, b.Faults = yours.form, faults
	if len(faults) > 0 {
		return p.showPolicy(http.StatusBadRequest, b)
	}
	if there && b.ETag == "" { // made meanwhile by somebody else
		return c.policyConflict(p, b, was, yours.policy, now)
	}
	patch, changed, err := patchBetween(was, yours.policy)
	if err != nil {
		return err
	}
	if !changed && there {
		return p.redirect(policyPath(pattern))
	}
	var match []string
	if there {
		match = []string{b.ETag}
	}
	_, _, err = c.o.Admin.PatchPolicy(p.gin.Request.Context(), p.Who, pattern, patch, match)
	switch {
	case fault.Code(err) == "stale_etag":
		now, _ = c.o.Settings.Now().Policy(pattern)
		return c.policyConflict(p, b, was, yours.policy, now)
	case fault.Code(err) == "invalid_policy":
		field, rest, _ := strings.Cut(problem.Of(err).Detail, " ")
		b.Faults = map[string]string{field: rest}
		return p.showPolicy(http.StatusBadRequest, b)
	case err != nil:
		return err
	}
	return p.redirect(policyPath(pattern) + "&done=saved")
}

// merge puts what somebody else has saved into a form: each field that only one of the two has changed is that one's; of a
// field that both have changed the form's own stays. It gives the fields that the other has changed.
func merge(form, was, theirs map[string]string, names []string) (conflicts []conflict) {
	for _, name := range names {
		if was[name] == theirs[name] {
			continue
		}
		x := conflict{Field: name, Was: was[name], Theirs: theirs[name], Yours: form[name]}
		switch {
		case x.Yours == x.Was:
			form[name] = x.Theirs
		case x.Yours != x.Theirs:
			x.Both = true
		}
		conflicts = append(conflicts, x)
	}
	return conflicts
}

// policyConflict puts together what two have changed: each field that only one has changed is that one's; of a field
// that both have changed the reader's stays in the form, beside the other's.
func (c *Console) policyConflict(p *page, b policyBody, was, yours, theirs queue.Policy) error {
	merged := formOf(yours)
	b.Conflict = merge(merged, formOf(was), formOf(theirs), formFields())
	raw, err := json.Marshal(theirs)
	if err != nil {
		return err
	}
	b.Form, b.Base, b.ETag, b.New = merged, string(raw), admin.ETag(theirs), false
	if b.Changed, err = c.lastChange(p, "policy", string(b.Pattern)); err != nil {
		return err
	}
	return p.showPolicy(http.StatusConflict, b)
}

// deletePolicy is POST /policy/delete?pattern=.
func (c *Console) deletePolicy(p *page) error {
	pattern, err := p.patternOf()
	if err != nil {
		return err
	}
	var match []string
	if tag := p.form().Get("etag"); tag != "" {
		match = []string{tag}
	}
	if err := c.o.Admin.DeletePolicy(p.gin.Request.Context(), p.Who, pattern, match); err != nil {
		return err
	}
	return p.redirect(base + "/policies")
}

// askDeletePolicy is GET /policy/delete?pattern=: which policy its items would fall back to.
func (c *Console) askDeletePolicy(p *page) error {
	pattern, err := p.patternOf()
	if err != nil {
		return err
	}
	now := c.o.Settings.Now()
	policy, there := now.Policy(pattern)
	if !there {
		return problem.ErrNotFound
	}
	p.Section, p.Title, p.Body = "policies", p.Text("policy.delete_title", "pattern", pattern), c.policyBody(p, pattern, policy, true)
	return p.showDialog("policy_delete")
}

// patchBetween gives the JSON Merge Patch that makes one policy of another.
func patchBetween(was, now queue.Policy) (patch []byte, changed bool, err error) {
	a, err := fieldsOf(was)
	if err != nil {
		return nil, false, err
	}
	b, err := fieldsOf(now)
	if err != nil {
		return nil, false, err
	}
	diff := map[string]any{}
	for name, v := range b {
		if name != "wait_page" && string(a[name]) != string(v) {
			diff[name] = v
		}
	}
	if page := diffPage(was.WaitPage, now.WaitPage); len(page) > 0 {
		diff["wait_page"] = page
	}
	patch, err = json.Marshal(diff)
	return patch, len(diff) > 0, err
}

// diffPage is the part of the patch for the waiting page; a text that is gone is null.
func diffPage(was, now queue.WaitPage) map[string]any {
	diff := map[string]any{}
	for name, pair := range map[string][2]map[string]string{
		"theme": {was.Theme, now.Theme}, "title": {was.Title, now.Title}, "message": {was.Message, now.Message},
	} {
		texts := map[string]any{}
		for k := range pair[0] {
			if _, there := pair[1][k]; !there {
				texts[k] = nil
			}
		}
		for k, v := range pair[1] {
			if old, there := pair[0][k]; !there || old != v {
				texts[k] = v
			}
		}
		if len(texts) > 0 {
			diff[name] = texts
		}
	}
	for name, pair := range map[string][2]string{"logo_url": {was.LogoURL, now.LogoURL}, "after_url": {was.AfterURL, now.AfterURL}} {
		if pair[0] != pair[1] {
			diff[name] = pair[1]
		}
	}
	if was.Status != now.Status {
		diff["status"] = now.Status
	}
	return diff
}

func fieldsOf(v any) (map[string]json.RawMessage, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, fmt.Errorf("fields of a policy: %w", err)
	}
	return fields, nil
}
