package settingsfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/scheduler/sale"
)

// Write gives a file with these settings: policies by pattern and sales by id in text order, of each policy the fields that
// are not at their default, of each sale those that it has. Reading it gives the same settings, and writing those the same
// bytes. The text is ours: the library leaves unquoted what it does not read back (a lone tab).
func Write(f File) ([]byte, error) {
	var b bytes.Buffer
	if f.Policies != nil || f.Sales == nil {
		section(&b, "policies", len(f.Policies))
		for _, pattern := range slices.Sorted(maps.Keys(f.Policies)) {
			if err := writeStruct(&b, 1, string(pattern), f.Policies[pattern], queue.DefaultPolicy()); err != nil {
				return nil, fmt.Errorf("write policy %s: %w", pattern, err)
			}
		}
	}
	if f.Sales != nil {
		section(&b, "sales", len(f.Sales))
		for _, id := range slices.Sorted(maps.Keys(f.Sales)) {
			if err := writeSale(&b, id, f.Sales[id].Plan); err != nil {
				return nil, fmt.Errorf("write sale %s: %w", id, err)
			}
		}
	}
	return b.Bytes(), nil
}

// section begins one with so many entries.
func section(b *bytes.Buffer, name string, entries int) {
	if entries == 0 {
		name += ": {}"
	} else {
		name += ":"
	}
	fmt.Fprintln(b, name)
}

// writeSale writes a sale: what it does not have, and the zone UTC, is left out.
func writeSale(b *bytes.Buffer, id string, p *sale.Plan) error {
	f := p.LocalForm()
	if *f.TimeZone == "UTC" && f.Repeat == nil {
		f.TimeZone = nil
	}
	return writeStruct(b, 1, id, f, sale.Form{Overrides: json.RawMessage("{}"), Ramp: []sale.RampStep{}})
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

// writeValue writes what can be written as JSON.
func writeValue(b *bytes.Buffer, depth int, key string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var plain any
	if err := json.Unmarshal(raw, &plain); err != nil {
		return err
	}
	return writePlain(b, indent(depth)+text(key)+":", indent(depth+1), plain)
}

// writePlain writes a value after its key or the dash of a list; in is where what is inside begins.
func writePlain(b *bytes.Buffer, head, in string, v any) error {
	var err error
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			fmt.Fprintf(b, "%s {}\n", head)
			return nil
		}
		fmt.Fprintln(b, head)
		for _, k := range slices.Sorted(maps.Keys(v)) {
			err = errors.Join(err, writePlain(b, in+text(k)+":", in+"  ", v[k]))
		}
	case []any:
		if len(v) == 0 {
			fmt.Fprintf(b, "%s []\n", head)
			return nil
		}
		fmt.Fprintln(b, head)
		for _, one := range v {
			var inner bytes.Buffer
			err = errors.Join(err, writePlain(&inner, "", in+"  ", one))
			fmt.Fprintf(b, "%s- %s", in, bytes.TrimLeft(inner.Bytes(), " \n")) // the first field of a mapping stands beside the dash
		}
	case string:
		fmt.Fprintf(b, "%s %s\n", head, text(v))
	case float64:
		fmt.Fprintf(b, "%s %s\n", head, strconv.FormatFloat(v, 'f', -1, 64)) // the library reads no exponent that has no dot before it
	default:
		var raw []byte
		if raw, err = json.Marshal(v); err == nil {
			fmt.Fprintf(b, "%s %s\n", head, raw)
		}
	}
	return err
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
