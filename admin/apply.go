package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/internal/settingsfile"
	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/scheduler/sale"
)

// Difference is what applying a file changes of one policy or sale.
type Difference struct {
	Pattern *queue.Pattern    `json:"pattern"` // null = it is a sale
	Sale    *string           `json:"sale"`    // its id; null = it is a policy
	Change  string            `json:"change"`  // made, changed, deleted
	Fields  []FieldDifference `json:"fields"`  // of a new policy, those that are not at their default
}

// FieldDifference is one field before and after; null = it is not there.
type FieldDifference struct {
	Field  string          `json:"field"` // wait_page.title for a field inside
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

// Apply writes what a file says, as a part of a change, and tells what that changes: policies by pattern, then sales by id.
// What the file leaves out stays, or with prune is deleted where the file has others of its kind; the policy * then has its
// defaults. A file that changes nothing writes nothing. A *settingsfile.Error tells which sale of the file does not fit.
func Apply(tx *sqlstore.Tx, by Identity, f settingsfile.File, prune bool, now time.Time) ([]Difference, error) {
	before, err := tx.Settings()
	if err != nil {
		return nil, err
	}
	a := applying{tx: tx, by: by, before: before, now: now, all: []Difference{}}
	if err := a.policies(f.Policies, prune); err != nil {
		return nil, err
	}
	if err := a.sales(f.Sales, prune); err != nil {
		return nil, err
	}
	return a.all, nil
}

// applying is a file on its way into the database.
type applying struct {
	tx     *sqlstore.Tx
	by     Identity
	before *settings.Settings
	now    time.Time
	all    []Difference
}

// note tells of one change that has been done with err: in the answer, the audit and to webhooks.
func (a *applying) note(err error, d Difference, action, target string, old, now any, e Event) error {
	a.all = append(a.all, d)
	return errors.Join(err, a.tx.Audit(Entry(a.by, action, target, "", old, now)), queuePolicyChanged(a.tx, a.before.Owner(), e))
}

func (a *applying) policies(wanted map[queue.Pattern]queue.Policy, prune bool) error {
	patterns := slices.Collect(maps.Keys(wanted))
	if prune && wanted != nil {
		patterns = append(patterns, a.before.Patterns()...)
	}
	slices.Sort(patterns)
	for _, pattern := range slices.Compact(patterns) {
		old, existed := a.before.Policy(pattern)
		policy, stays := wanted[pattern]
		d, e := Difference{Pattern: &pattern}, policyEvent(a.by, pattern, a.now)
		var err error
		switch {
		case stays && existed && reflect.DeepEqual(old, policy):
		case !stays && pattern == "*" && reflect.DeepEqual(old, queue.DefaultPolicy()):
		case !stays:
			d.Change, d.Fields = "deleted", differences("", old, queue.DefaultPolicy())
			err = a.note(a.tx.DeletePolicy(pattern), d, "policy.delete", string(pattern), old, nil, e)
		case !existed:
			d.Change, d.Fields = "made", differences("", queue.DefaultPolicy(), policy)
			err = a.note(a.tx.PutPolicy(pattern, policy), d, "policy.apply", string(pattern), nil, policy, e)
		default:
			d.Change, d.Fields = "changed", differences("", old, policy)
			err = a.note(a.tx.PutPolicy(pattern, policy), d, "policy.apply", string(pattern), old, policy, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sales writes all of them before it looks whether they fit: two of a file may change their times with each other.
func (a *applying) sales(wanted map[string]settingsfile.Sale, prune bool) error {
	ids := slices.Collect(maps.Keys(wanted))
	if prune && wanted != nil {
		for _, p := range a.before.Sales().Plans() {
			ids = append(ids, p.ID)
		}
	}
	slices.Sort(ids)
	var written []settingsfile.Sale
	for _, id := range slices.Compact(ids) {
		old, s := a.before.Sales().Plan(id), wanted[id]
		d, e := Difference{Sale: &id, Fields: saleDifferences(old, s.Plan)}, saleEvent(a.by, id, a.now)
		var err error
		switch {
		case s.Plan == nil:
			d.Change = "deleted"
			err = a.note(a.tx.DeleteSale(id), d, "sale.delete", id, old.Form(), nil, e)
		case old == nil:
			d.Change = "made"
			err = a.note(a.tx.PutSale(s.Plan.Sale), d, "sale.apply", id, nil, s.Plan.Form(), e)
		case old.Form().Same(s.Plan.Form()):
			continue
		default:
			d.Change = "changed"
			err = a.note(a.tx.PutSale(s.Plan.Sale), d, "sale.apply", id, old.Form(), s.Plan.Form(), e)
		}
		if err != nil {
			return err
		}
		if s.Plan != nil {
			written = append(written, s)
		}
	}
	after, err := a.tx.Settings()
	if err != nil {
		return err
	}
	for _, s := range written {
		if err := fits(after, s.Plan, a.now); err != nil {
			return &settingsfile.Error{Line: s.Line, What: fmt.Sprintf("sale %q: %s", s.Plan.ID, problem.Of(err).Detail)}
		}
	}
	return nil
}

// saleDifferences lists the fields that differ between two sales, those of the overrides one by one. nil = there is none.
func saleDifferences(old, p *sale.Plan) []FieldDifference {
	before, after := saleFields(old), saleFields(p)
	out := []FieldDifference{}
	names := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(after))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if x, y := before[name], after[name]; x != y {
			out = append(out, FieldDifference{name, raw(x), raw(y)})
		}
	}
	return out
}

// saleFields gives the fields of a sale as JSON, without those that it does not have.
func saleFields(p *sale.Plan) map[string]string {
	out := map[string]string{}
	if p == nil {
		return out
	}
	form := p.Form()
	fields := fieldsOf([]byte(jsonText(form)))
	delete(fields, "overrides")
	for name, value := range fieldsOf(form.Overrides) {
		fields["overrides."+name] = value
	}
	for name, value := range fields {
		var v any
		if json.Unmarshal(value, &v) == nil && v != nil && !(name == "ramp" && len(form.Ramp) == 0) {
			out[name] = jsonText(v) // in one spelling
		}
	}
	return out
}

// differences lists the fields that differ between two structs of one type, by their JSON names.
func differences(within string, a, b any) []FieldDifference {
	out := []FieldDifference{}
	va, vb := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range va.NumField() {
		x, y := va.Field(i).Interface(), vb.Field(i).Interface()
		name := within + va.Type().Field(i).Tag.Get("json")
		switch {
		case reflect.DeepEqual(x, y):
		case va.Field(i).Kind() == reflect.Struct:
			out = append(out, differences(name+".", x, y)...)
		default:
			out = append(out, FieldDifference{name, raw(jsonText(x)), raw(jsonText(y))})
		}
	}
	return out
}

// policiesFile is GET /policies?format=yaml: all policies as sluice apply takes them.
func (a *Admin) policiesFile(c *gin.Context) error {
	now := a.o.Settings.Now()
	f := settingsfile.File{Policies: map[queue.Pattern]queue.Policy{}}
	for _, p := range now.Patterns() {
		if policy, _ := now.Policy(p); p != "*" || !reflect.DeepEqual(policy, queue.DefaultPolicy()) {
			f.Policies[p] = policy
		}
	}
	return answerFile(c, "policies.yaml", f)
}

// salesFile is GET /sales?format=yaml: all sales as sluice apply takes them.
func (a *Admin) salesFile(c *gin.Context) error {
	f := settingsfile.File{Sales: map[string]settingsfile.Sale{}}
	for _, p := range a.o.Settings.Now().Sales().Plans() {
		f.Sales[p.ID] = settingsfile.Sale{Plan: p}
	}
	return answerFile(c, "sales.yaml", f)
}

func answerFile(c *gin.Context, name string, f settingsfile.File) error {
	b, err := settingsfile.Write(f)
	if err != nil {
		return err
	}
	c.Header("Content-Disposition", `attachment; filename="`+name+`"`)
	c.Data(http.StatusOK, "application/yaml", b)
	return nil
}
