package admin

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/internal/settingsfile"
	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
)

// Difference is what applying a file changes of one policy.
type Difference struct {
	Pattern queue.Pattern     `json:"pattern"`
	Change  string            `json:"change"` // made, changed, deleted
	Fields  []FieldDifference `json:"fields"` // of a new policy, those that are not at their default
}

// FieldDifference is one field of a policy before and after; null = there is no policy.
type FieldDifference struct {
	Field  string          `json:"field"` // wait_page.title for a field inside
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

// Apply writes what a file says, as a part of a change, and tells what that changes, by pattern. What the file leaves
// out stays, or is deleted with prune; the policy * then has its defaults. A file that changes nothing writes nothing.
func Apply(tx *sqlstore.Tx, by Identity, f settingsfile.File, prune bool, now time.Time) ([]Difference, error) {
	before, err := tx.Settings()
	if err != nil {
		return nil, err
	}
	all := []Difference{}
	write := func(action string, pattern queue.Pattern, d Difference, old, policy any, do func() error) error {
		d.Pattern = pattern
		all = append(all, d)
		event := Event{Type: PolicyChanged, Time: now, Data: map[string]any{"pattern": pattern, "by": by.Name}}
		return errors.Join(do(), tx.Audit(Entry(by, action, string(pattern), "", old, policy)), queuePolicyChanged(tx, before.Owner(), event))
	}
	for _, pattern := range slices.Sorted(maps.Keys(f.Policies)) {
		policy := f.Policies[pattern]
		old, exists := before.Policy(pattern)
		if exists && reflect.DeepEqual(old, policy) {
			continue
		}
		d, was := Difference{Change: "changed", Fields: differences("", old, policy)}, any(old)
		if !exists {
			d, was = Difference{Change: "made", Fields: differences("", queue.DefaultPolicy(), policy)}, nil
		}
		if err := write("policy.apply", pattern, d, was, policy, func() error { return tx.PutPolicy(pattern, policy) }); err != nil {
			return nil, err
		}
	}
	if prune && f.Policies != nil {
		if err := pruned(before, f, write, tx); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b Difference) int { return strings.Compare(string(a.Pattern), string(b.Pattern)) })
	return all, nil
}

// pruned deletes the policies that the file leaves out.
func pruned(before *settings.Settings, f settingsfile.File, write func(string, queue.Pattern, Difference, any, any, func() error) error, tx *sqlstore.Tx) error {
	for _, pattern := range slices.Sorted(slices.Values(before.Patterns())) {
		old, _ := before.Policy(pattern)
		if _, stays := f.Policies[pattern]; stays || pattern == "*" && reflect.DeepEqual(old, queue.DefaultPolicy()) {
			continue
		}
		d := Difference{Change: "deleted", Fields: differences("", old, queue.DefaultPolicy())}
		if err := write("policy.delete", pattern, d, old, nil, func() error { return tx.DeletePolicy(pattern) }); err != nil {
			return err
		}
	}
	return nil
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
	b, err := a.SettingsFile()
	if err != nil {
		return err
	}
	c.Header("Content-Disposition", `attachment; filename="policies.yaml"`)
	c.Data(http.StatusOK, "application/yaml", b)
	return nil
}

// SettingsFile gives the policies in force as a file that sluice apply takes.
func (a *Admin) SettingsFile() ([]byte, error) {
	now := a.o.Settings.Now()
	f := settingsfile.File{Policies: map[queue.Pattern]queue.Policy{}}
	for _, p := range now.Patterns() {
		if policy, _ := now.Policy(p); p != "*" || !reflect.DeepEqual(policy, queue.DefaultPolicy()) {
			f.Policies[p] = policy
		}
	}
	return settingsfile.Write(f)
}
