package settingsfile

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/scheduler/sale"
)

// sales reads them by id.
func sales(n ast.Node) (map[string]Sale, error) {
	all, err := entries(n, "sales")
	if err != nil {
		return nil, err
	}
	out := make(map[string]Sale, len(all))
	for _, e := range all {
		of := fmt.Sprintf("sale %q", e.key)
		if _, err := sale.ParseID(e.key); err != nil {
			return nil, &Error{Line: e.line, What: of + ": " + detail(err)}
		}
		form, err := form(e.value, of)
		if err != nil {
			return nil, err
		}
		plan, err := form.Plan(e.key)
		if err != nil {
			return nil, &Error{Line: lineOf(e, err), What: of + ": " + detail(err)}
		}
		out[e.key] = Sale{plan, e.line}
	}
	return out, nil
}

// form reads the fields of a sale one after the other, so that the one that is wrong is known by its line.
func form(n ast.Node, of string) (sale.Form, error) {
	var f sale.Form
	fields, err := entries(n, of)
	if err != nil {
		return f, err
	}
	for _, field := range fields {
		if field.key == "overrides" {
			policy := queue.DefaultPolicy()
			named, err := setFields(&policy, field.value, of+": overrides")
			if err != nil {
				return f, err
			}
			if f.Overrides, err = json.Marshal(named); err != nil {
				return f, err
			}
			continue
		}
		if _, err := setField(&f, field); err != nil {
			return f, &Error{Line: field.line, What: of + ": " + detail(err)}
		}
	}
	return f, nil
}

// named is the field that a refusal of a sale begins with.
var named = regexp.MustCompile(`^[a-z_]+(\[[0-9]+\])?(\.[a-z_]+)*`)

// lineOf gives the line of the field that a refusal names; that of the sale where the field is not there.
func lineOf(e entry, err error) int {
	path, bad := yaml.PathString("$." + named.FindString(detail(err)))
	if bad != nil {
		return e.line
	}
	n, bad := path.FilterNode(e.value)
	if bad != nil || n == nil {
		return e.line
	}
	return line(n)
}
