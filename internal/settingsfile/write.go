package settingsfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/queue"
)

// Write gives a file with these settings: patterns in text order, and of each policy the fields that are not at their
// default. Reading it gives the same settings, and writing those the same bytes. The text is ours: the library leaves
// unquoted what it does not read back (a lone tab).
func Write(f File) ([]byte, error) {
	var b bytes.Buffer
	if len(f.Policies) == 0 {
		return []byte("policies: {}\n"), nil
	}
	b.WriteString("policies:\n")
	for _, pattern := range slices.Sorted(maps.Keys(f.Policies)) {
		if err := writeStruct(&b, 1, string(pattern), f.Policies[pattern], queue.DefaultPolicy()); err != nil {
			return nil, fmt.Errorf("write policy %s: %w", pattern, err)
		}
	}
	return b.Bytes(), nil
}

func indent(depth int) string { return strings.Repeat("  ", depth) }

// writeStruct writes the fields of v that differ from those of def, in the order of the type.
func writeStruct(b *bytes.Buffer, depth int, key string, v, def any) error {
	head := b.Len()
	fmt.Fprintf(b, "%s%s:\n", indent(depth), text(key))
	empty := b.Len()
	values, defaults := reflect.ValueOf(v), reflect.ValueOf(def)
	for i := range values.NumField() {
		x, y := values.Field(i).Interface(), defaults.Field(i).Interface()
		if reflect.DeepEqual(x, y) {
			continue
		}
		name := values.Type().Field(i).Tag.Get("json")
		if values.Field(i).Kind() == reflect.Struct {
			if err := writeStruct(b, depth+1, name, x, y); err != nil {
				return err
			}
			continue
		}
		if err := writeValue(b, depth+1, name, x); err != nil {
			return err
		}
	}
	if b.Len() == empty {
		b.Truncate(head)
		fmt.Fprintf(b, "%s%s: {}\n", indent(depth), text(key))
	}
	return nil
}

// writeValue writes a text, number, switch, list or mapping of texts.
func writeValue(b *bytes.Buffer, depth int, key string, v any) error {
	in := indent(depth)
	switch v := v.(type) {
	case map[string]string:
		if len(v) == 0 {
			fmt.Fprintf(b, "%s%s: {}\n", in, key)
			return nil
		}
		fmt.Fprintf(b, "%s%s:\n", in, key)
		for _, k := range slices.Sorted(maps.Keys(v)) {
			fmt.Fprintf(b, "%s%s: %s\n", indent(depth+1), text(k), text(v[k]))
		}
		return nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil && list != nil {
		if len(list) == 0 {
			fmt.Fprintf(b, "%s%s: []\n", in, key)
			return nil
		}
		fmt.Fprintf(b, "%s%s:\n", in, key)
		for _, one := range list {
			fmt.Fprintf(b, "%s- %s\n", indent(depth+1), text(one))
		}
		return nil
	}
	var word string
	if json.Unmarshal(raw, &word) == nil {
		raw = []byte(text(word))
	}
	fmt.Fprintf(b, "%s%s: %s\n", in, key, raw)
	return nil
}

// bare are texts that mean themselves without quotes, in whichever version of YAML.
var bare = regexp.MustCompile(`^[a-z][a-z0-9_]*(-[a-z0-9_]+)*(-?\*)?$`)

// reserved are words that mean something else in some version of YAML.
var reserved = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

// text quotes a text where it must be. Every escape of Go's is one of YAML's.
func text(s string) string {
	if bare.MatchString(s) && !slices.Contains(reserved, s) {
		return s
	}
	return strconv.Quote(s)
}
