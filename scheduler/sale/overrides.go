package sale

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/queue"
)

// fieldsOf gives the JSON names of a struct.
func fieldsOf(t reflect.Type) map[string]bool {
	names := map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		names[strings.Split(f.Tag.Get("json"), ",")[0]] = true
	}
	return names
}

var (
	policyFields = fieldsOf(reflect.TypeFor[queue.Policy]())
	pageFields   = fieldsOf(reflect.TypeFor[queue.WaitPage]())
)

// checkOverrides checks the policy fields of a sale, and gives their names. What is not named stays as the policy has
// it, also inside wait_page, its texts by language and its colours.
func checkOverrides(body json.RawMessage) ([]string, error) {
	fields, err := objectOf("overrides", body, policyFields)
	if err != nil {
		return nil, err
	}
	if page, ok := fields["wait_page"]; ok {
		if _, err := objectOf("overrides.wait_page", page, pageFields); err != nil {
			return nil, err
		}
	}
	p, err := override(queue.DefaultPolicy(), body)
	if err != nil {
		return nil, ErrInvalid.With("overrides must be policy fields of the right types.").Because(err)
	}
	if p.Mode == queue.ModeOff {
		return nil, invalid("overrides.mode", "auto or on: a sale needs a queue")
	}
	if err := p.Validate(); err != nil {
		return nil, ErrInvalid.With("overrides: " + detail(err))
	}
	return slices.Sorted(maps.Keys(fields)), nil
}

// objectOf reads an object of known names, of which none is null.
func objectOf(path string, body json.RawMessage, known map[string]bool) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil || fields == nil {
		return nil, invalid(path, "a JSON object")
	}
	for name, value := range fields {
		if !known[name] {
			return nil, ErrInvalid.With(path + " has a field that no policy has; see the fields of policies.")
		}
		if bytes.Equal(bytes.TrimSpace(value), []byte("null")) {
			return nil, invalid(path+"."+name, "a value, or left out")
		}
	}
	return fields, nil
}

func detail(err error) string {
	_, text, _ := strings.Cut(err.Error(), ": ")
	return text
}

// override gives a policy with some fields replaced. The policy given shares nothing with the answer.
func override(p queue.Policy, body json.RawMessage) (queue.Policy, error) {
	whole, err := json.Marshal(p)
	if err != nil {
		return p, err
	}
	var out queue.Policy
	if err := json.Unmarshal(whole, &out); err != nil {
		return p, err
	}
	if len(body) == 0 {
		return out, nil
	}
	return out, json.Unmarshal(body, &out)
}
