package config

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// Setting describes one setting, from the tags of Flags.
type Setting struct {
	Flag    string // without the dashes
	Env     string // SLUICE_…
	Key     string // in the YAML file
	Default string // "" = none; then Empty says what that means
	Empty   string
	Unit    string // what a value is, and its range
	Help    string
	Secret  bool // its value is in no message
	List    bool // repeatable
}

// Settings lists every setting in the order of Flags.
var Settings = sync.OnceValue(func() []Setting { return settingsOf(reflect.TypeFor[Flags]()) })

func settingsOf(t reflect.Type) (out []Setting) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			out = append(out, settingsOf(f.Type)...)
			continue
		}
		name := f.Tag.Get("name")
		key := strings.ReplaceAll(name, "-", "_")
		out = append(out, Setting{
			Flag: name, Env: "SLUICE_" + strings.ToUpper(key), Key: key,
			Default: f.Tag.Get("default"), Empty: f.Tag.Get("empty"), Unit: f.Tag.Get("unit"), Help: f.Tag.Get("help"),
			Secret: f.Tag.Get("secret") == "true", List: f.Type.Kind() == reflect.Slice,
		})
	}
	return out
}

// find gives the setting of a flag's name; false where there is none.
func find(flag string) (Setting, bool) {
	for _, s := range Settings() {
		if s.Flag == flag {
			return s, true
		}
	}
	return Setting{}, false
}

// Error says in one line which setting is wrong and what it may be.
type Error struct {
	Setting Setting
	Value   string // not shown for a secret
	Why     string // "" = it is not what Unit says
}

// Error names flag, variable, key, value and range.
func (e *Error) Error() string {
	s := e.Setting
	value := ""
	if !s.Secret {
		v := []rune(e.Value)
		if len(v) > 60 {
			v = append(v[:60], '…')
		}
		value = fmt.Sprintf(" %q", string(v))
	}
	why := e.Why
	if why == "" {
		why = "is not possible"
	}
	return fmt.Sprintf("--%s:%s %s; it takes %s (%s, %s in the file)", s.Flag, value, why, s.Unit, s.Env, s.Key)
}

// HelpText is the setting's text in --help: meaning, unit and range, default, variable.
func (s Setting) HelpText() string {
	def := s.Default
	if def == "" {
		def = s.Empty
	}
	return fmt.Sprintf("%s Takes %s. Default: %s. [%s]", s.Help, s.Unit, def, s.Env)
}
