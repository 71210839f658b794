package settingsfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/goccy/go-yaml/ast"

	"github.com/sluicehq/sluice/queue"
)

// policies reads them by pattern.
func policies(n ast.Node) (map[queue.Pattern]queue.Policy, error) {
	all, err := entries(n, "policies")
	if err != nil {
		return nil, err
	}
	out := make(map[queue.Pattern]queue.Policy, len(all))
	for _, e := range all {
		of := fmt.Sprintf("policy %q", e.key)
		pattern, err := queue.ParsePattern(e.key)
		if err != nil {
			return nil, &Error{Line: e.line, What: of + ": " + detail(err)}
		}
		policy := queue.DefaultPolicy()
		if _, err := setFields(&policy, e.value, of); err != nil {
			return nil, err
		}
		policy.InflowPerSecond += 0 // -0 is 0
		policy.ReleaseRatio += 0
		out[pattern] = policy
	}
	return out, nil
}

// setFields sets the fields of a policy that a mapping names, and gives them as JSON. It goes one after the other, so that
// the one that is wrong is known by its line.
func setFields(policy *queue.Policy, n ast.Node, of string) (map[string]json.RawMessage, error) {
	fields, err := entries(n, of)
	if err != nil {
		return nil, err
	}
	named := make(map[string]json.RawMessage, len(fields))
	for _, field := range fields {
		if named[field.key], err = setField(policy, field); err == nil {
			err = policy.Validate()
		}
		if err != nil {
			return nil, &Error{Line: field.line, What: of + ": " + detail(err)}
		}
	}
	return named, nil
}

// setField sets a field of the struct that v points to, by its JSON name, and gives its value as JSON.
func setField(v any, field entry) (json.RawMessage, error) {
	value, err := asJSON(field.value)
	if err != nil {
		return nil, err
	}
	if !hasField(reflect.TypeOf(v).Elem(), field.key) {
		return nil, fmt.Errorf("%s is not known", field.key)
	}
	one, err := json.Marshal(map[string]json.RawMessage{field.key: value})
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(one))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return nil, fieldError(field.key, err)
	}
	return value, nil
}

// hasField reports whether a struct has a field of exactly this JSON name: encoding/json takes others for it.
func hasField(t reflect.Type, name string) bool {
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("json") == name {
			return true
		}
	}
	return false
}

// fieldError says what is wrong with a field in words that are not those of a library.
func fieldError(key string, err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s has the wrong type", wrong.Field)
	}
	return fmt.Errorf("%s has a field that is not known", key)
}
