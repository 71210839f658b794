// Package settingsfile reads and writes settings as a file for people who keep them in git:
//
//	policies:
//	  "*":
//	    trigger_requests: 100
//	  concert-*:
//	    inflow_per_second: 5
//	    wait_page:
//	      title:
//	        en: Almost there
//
// A field that is not given has its default; one that is unknown, stands twice or is out of range is refused with its line.
package settingsfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/queue"
)

// File is the content of a file.
type File struct {
	Policies map[queue.Pattern]queue.Policy // nil = the file says nothing of policies
}

// Error says what is wrong, and where.
type Error struct {
	Line int // 1 is the first; 0 = not known
	What string
}

// Error gives one line.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.What
	}
	return "line " + strconv.Itoa(e.Line) + ": " + e.What
}

// Parse reads a file; an *Error where it cannot be used as a whole.
func Parse(raw []byte) (File, error) {
	doc, err := parser.ParseBytes(raw, 0)
	if err != nil {
		return File{}, yamlError(err)
	}
	var f File
	if len(doc.Docs) > 1 {
		return f, &Error{Line: line(doc.Docs[1].Body), What: "one document is expected"}
	}
	if len(doc.Docs) == 0 || doc.Docs[0].Body == nil {
		return f, &Error{What: "there is nothing in it; an empty list of policies is written policies: {}"}
	}
	top, err := entries(doc.Docs[0].Body, "the file")
	if err != nil {
		return f, err
	}
	for _, section := range top {
		switch section.key {
		case "policies":
			if f.Policies, err = policies(section.value); err != nil {
				return f, err
			}
		default:
			return f, &Error{Line: section.line, What: fmt.Sprintf("%q is not known; a file has policies", section.key)}
		}
	}
	return f, nil
}

func policies(n ast.Node) (map[queue.Pattern]queue.Policy, error) {
	all, err := entries(n, "policies")
	if err != nil {
		return nil, err
	}
	out := make(map[queue.Pattern]queue.Policy, len(all))
	for _, e := range all {
		pattern, err := queue.ParsePattern(e.key)
		if err != nil {
			return nil, &Error{Line: e.line, What: fmt.Sprintf("policy %q: %s", e.key, detail(err))}
		}
		policy := queue.DefaultPolicy()
		fields, err := entries(e.value, fmt.Sprintf("policy %q", e.key))
		if err != nil {
			return nil, err
		}
		// One field after the other, so that the one that is wrong is known by its line.
		for _, field := range fields {
			wrong := func(err error) error {
				return &Error{Line: field.line, What: fmt.Sprintf("policy %q: %s", e.key, detail(err))}
			}
			value, err := asJSON(field.value)
			if err != nil {
				return nil, wrong(err)
			}
			one, err := json.Marshal(map[string]json.RawMessage{field.key: value})
			if err != nil {
				return nil, wrong(err)
			}
			d := json.NewDecoder(bytes.NewReader(one))
			d.DisallowUnknownFields()
			if err := d.Decode(&policy); err != nil {
				return nil, wrong(fieldError(field.key, err))
			}
			if err := policy.Validate(); err != nil {
				return nil, wrong(err)
			}
		}
		policy.InflowPerSecond += 0 // -0 is 0
		policy.ReleaseRatio += 0
		out[pattern] = policy
	}
	return out, nil
}

// fieldError says what is wrong with a field in words that are not those of a library.
func fieldError(key string, err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s has the wrong type", wrong.Field)
	}
	return fmt.Errorf("%s is not known, or has a field that is not", key)
}

// entry is one line of a mapping.
type entry struct {
	key   string
	value ast.Node
	line  int
}

// entries lists those of a mapping; none of a null.
func entries(n ast.Node, of string) ([]entry, error) {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	case *ast.NullNode:
		return nil, nil
	default:
		return nil, &Error{Line: line(n), What: of + " must be a mapping"}
	}
	var all []entry
	seen := map[string]bool{}
	for _, v := range values {
		key, ok := v.Key.(ast.ScalarNode)
		if !ok {
			return nil, &Error{Line: line(v), What: of + ": a key must be a text"}
		}
		text := fmt.Sprint(key.GetValue())
		if seen[text] {
			return nil, &Error{Line: line(v.Key), What: fmt.Sprintf("%s: %q stands twice", of, text)}
		}
		seen[text] = true
		all = append(all, entry{text, v.Value, line(v.Key)})
	}
	return all, nil
}

// asJSON gives a value as JSON. A null is the default, as in the admin API, so it is no value here.
func asJSON(n ast.Node) (json.RawMessage, error) {
	if _, null := n.(*ast.NullNode); null {
		return nil, errors.New("a field without a value: leave it out to have its default")
	}
	var v any
	if err := yaml.NodeToValue(n, &v); err != nil {
		return nil, yamlError(err)
	}
	return json.Marshal(v)
}

func line(n ast.Node) int {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 0
	}
	return n.GetToken().Position.Line
}

// yamlError gives the first line of the library's message, without the part of the file that it quotes.
func yamlError(err error) error {
	var of yaml.Error
	if !errors.As(err, &of) {
		return &Error{What: "it is not YAML"}
	}
	e := &Error{What: of.GetMessage()}
	if t := of.GetToken(); t != nil && t.Position != nil {
		e.Line = t.Position.Line
	}
	return e
}

// detail is what a refusal says to people.
func detail(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Detail
	}
	return err.Error()
}
