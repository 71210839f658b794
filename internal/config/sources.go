package config

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"
)

// Sources gives kong the values of variables and of the file for flags that the command line leaves out. It replaces
// kong's own env tags, because there a file goes before a variable, and a wrong variable's value is shown.
type Sources struct {
	Environ []string // NAME=value, as os.Environ gives them

	env    map[string]string // flag -> value
	envErr error
	file   map[string]any // flag -> value; nil = not read yet
}

// Options makes kong read the settings from command line, environment and file, and show units and defaults in --help.
func (s *Sources) Options() []kong.Option {
	s.env, s.envErr = parseEnviron(s.Environ)
	return []kong.Option{
		kong.Resolvers(s),
		kong.ValueFormatter(func(v *kong.Value) string {
			if set, ok := find(v.Name); ok && v.Tag != nil && v.Tag.Get("unit") != "" {
				return set.HelpText()
			}
			return kong.DefaultHelpValueFormatter(v)
		}),
	}
}

// kubernetes makes such variables for each Service of a name like sluice, in every container beside it; they are no
// settings of ours.
var kubernetes = regexp.MustCompile(`^SLUICE_([A-Z0-9_]+_)?(SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// parseEnviron gives the settings by flag. An unknown SLUICE_ variable is an error, also for commands that heed none of
// them. A variable without a value counts as not set.
func parseEnviron(environ []string) (map[string]string, error) {
	env := map[string]string{}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "SLUICE_") || kubernetes.MatchString(name) {
			continue
		}
		i := slices.IndexFunc(Settings(), func(set Setting) bool { return set.Env == name })
		if i < 0 {
			return nil, fmt.Errorf("%s: there is no such setting; serve --help lists them", name)
		}
		if value != "" {
			env[Settings()[i].Flag] = value
		}
	}
	return env, nil
}

// Validate says what was wrong with the environment.
func (s *Sources) Validate(*kong.Application) error { return s.envErr }

// Resolve gives the value of a flag that the command line left out; nil where nobody set it.
func (s *Sources) Resolve(ctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	set, ok := find(flag.Name)
	if !ok || flag.Tag.Get("unit") == "" {
		return nil, nil
	}
	if v, ok := s.env[set.Flag]; ok {
		if set.List {
			return list(strings.Fields(v)), nil
		}
		return v, nil
	}
	if set.Flag == "config" {
		return nil, nil
	}
	if err := s.load(ctx); err != nil {
		return nil, err
	}
	if v, ok := s.file[set.Flag]; ok {
		return v, nil
	}
	return nil, nil
}

// load reads the file that --config or its variable names, once.
func (s *Sources) load(ctx *kong.Context) error {
	if s.file != nil {
		return nil
	}
	s.file = map[string]any{}
	name := s.env["config"]
	for _, p := range ctx.Path {
		if p.Flag != nil && p.Flag.Name == "config" && !p.Resolved {
			name, _ = ctx.FlagValue(p.Flag).(string)
		}
	}
	if name == "" {
		return nil
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	s.file, err = parseFile(raw)
	if err != nil {
		return fmt.Errorf("--config %s: %w", name, err)
	}
	return nil
}

// parseFile reads YAML of one level: settings by their key, with _ or - between the words.
func parseFile(raw []byte) (map[string]any, error) {
	var doc map[string]any
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		// The library's message quotes the lines around the fault, which may hold a secret.
		return nil, fmt.Errorf("is not YAML with one setting a line%s", position(err))
	}
	out := make(map[string]any, len(doc))
	for key, v := range doc {
		set, ok := find(strings.ReplaceAll(key, "_", "-"))
		if !ok || set.Flag == "config" {
			return nil, fmt.Errorf("%q: there is no such setting", key)
		}
		if _, twice := out[set.Flag]; twice {
			return nil, fmt.Errorf("%s is there twice", set.Key)
		}
		if v == nil {
			continue
		}
		text, err := texts(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", set.Key, err)
		}
		if set.List {
			out[set.Flag] = list(text)
		} else {
			out[set.Flag] = strings.Join(text, ",")
		}
	}
	return out, nil
}

var where = regexp.MustCompile(`^\[(\d+):\d+\]`)

// position gives ", line n" from the library's message.
func position(err error) string {
	if m := where.FindStringSubmatch(err.Error()); m != nil {
		return ", line " + m[1]
	}
	return ""
}

// texts gives a scalar, or a list of scalars, as it would be written on the command line.
func texts(v any) ([]string, error) {
	switch v := v.(type) {
	case string:
		return []string{v}, nil
	case bool, int64, uint64:
		return []string{fmt.Sprint(v)}, nil
	case float64:
		return []string{strconv.FormatFloat(v, 'g', -1, 64)}, nil
	case []any:
		var out []string
		for _, one := range v {
			if _, nested := one.([]any); nested {
				return nil, fmt.Errorf("is a list of lists")
			}
			t, err := texts(one)
			if err != nil {
				return nil, err
			}
			out = append(out, t...)
		}
		return out, nil
	default:
		return nil, fmt.Errorf("is neither a text, a number, true or false, nor a list of these")
	}
}

// list is what kong takes as the whole of a repeatable flag.
func list(ss []string) []any {
	out := make([]any, len(ss))
	for i, s := range ss {
		out[i] = s
	}
	return out
}
