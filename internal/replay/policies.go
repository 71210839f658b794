package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/queue"
)

// Policies makes the policies of a replay. file is YAML, or empty:
//
//	policies:
//	  "*":       {trigger_requests: 100}
//	  concert-*: {inflow_per_second: 5, max_active_users: 200}
//
// A field that is not given has its default. sets are `field=value`, over every policy of the file. An error names the
// field, or the line of the file.
func Policies(file []byte, sets []string) (*queue.Policies, error) {
	var doc struct {
		Policies map[string]map[string]any `yaml:"policies"`
	}
	if err := yaml.UnmarshalWithOptions(file, &doc, yaml.DisallowUnknownField()); err != nil && len(bytes.TrimSpace(file)) > 0 {
		return nil, fmt.Errorf("policies: %w", err)
	}
	byPattern := map[queue.Pattern]queue.Policy{"*": queue.DefaultPolicy()}
	for _, text := range slices.Sorted(maps.Keys(doc.Policies)) {
		pattern, err := queue.ParsePattern(text)
		if err != nil {
			return nil, fmt.Errorf("policies: %q: %s", text, detail(err))
		}
		policy := queue.DefaultPolicy()
		if err := merge(&policy, doc.Policies[text]); err != nil {
			return nil, fmt.Errorf("policies: %q: %w", text, err)
		}
		byPattern[pattern] = policy
	}
	for _, pattern := range slices.Sorted(maps.Keys(byPattern)) {
		policy := byPattern[pattern]
		for _, set := range sets {
			field, value, ok := strings.Cut(set, "=")
			if !ok {
				return nil, fmt.Errorf("--set %s: it must be field=value", set)
			}
			if err := merge(&policy, map[string]any{field: scalar(value)}); err != nil {
				return nil, fmt.Errorf("--set %s: %w", set, err)
			}
		}
		if err := policy.Validate(); err != nil {
			return nil, fmt.Errorf("policy %q: %s", string(pattern), detail(err))
		}
		byPattern[pattern] = policy
	}
	return queue.NewPolicies(1, byPattern), nil
}

// scalar reads a value as JSON where it is some, else as text.
func scalar(value string) any {
	if json.Valid([]byte(value)) {
		return json.RawMessage(value)
	}
	return value
}

// merge sets fields of a policy, by their names in the admin API, and as strictly.
func merge(p *queue.Policy, fields map[string]any) error {
	b, err := json.Marshal(fields)
	if err != nil {
		return errors.New("a value is no number, text, list or object")
	}
	if err := problem.Decode(b, p); err != nil {
		return errors.New(detail(err))
	}
	return nil
}

// detail is what a refusal says to people.
func detail(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Detail
	}
	return err.Error()
}
