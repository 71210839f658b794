package console

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// forms are the plural forms that a language has, by CLDR.
var forms = map[string][]string{"en": {"one", "other"}, "ko": {"other"}}

// messages reads a file as id -> form -> text; a message without forms has one under "".
func messages(t *testing.T, lang string) map[string]map[string]string {
	t.Helper()
	raw, err := fs.ReadFile(localeFiles, "locales/"+lang+".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := yaml.Unmarshal(raw, &tree); err != nil {
		t.Fatalf("%s: %v", lang, err)
	}
	out := map[string]map[string]string{}
	var walk func(id string, v any)
	walk = func(id string, v any) {
		switch v := v.(type) {
		case map[string]any:
			_, plural := v["other"]
			for k, x := range v {
				if text, ok := x.(string); ok && plural {
					if out[id] == nil {
						out[id] = map[string]string{}
					}
					out[id][k] = text
					continue
				}
				walk(strings.TrimPrefix(id+"."+k, "."), x)
			}
		case string:
			out[id] = map[string]string{"": v}
		default:
			t.Errorf("%s: %s is no text but %v (quote on, off, yes and no)", lang, id, v)
		}
	}
	walk("", tree)
	return out
}

var takes = regexp.MustCompile(`\{\{\.(\w+)\}\}`)

func placeholders(text string) []string {
	var names []string
	for _, m := range takes.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestEachLanguageSaysTheSame(t *testing.T) {
	t.Parallel()
	want := messages(t, "en")
	for _, lang := range Languages {
		got := messages(t, lang)
		for _, id := range slices.Sorted(maps.Keys(want)) {
			texts, there := got[id]
			if !there {
				t.Errorf("%s: %s is missing", lang, id)
				continue
			}
			_, plain := want[id][""]
			expected := []string{""}
			if !plain {
				expected = forms[lang]
			}
			if have := slices.Sorted(maps.Keys(texts)); !slices.Equal(have, expected) {
				t.Errorf("%s: %s has the forms %q; want %q", lang, id, have, expected)
			}
			for form, text := range texts {
				model := want[id][form]
				if model == "" {
					model = want[id]["other"]
				}
				if a, b := placeholders(text), placeholders(model); !slices.Equal(a, b) {
					t.Errorf("%s: %s (%s) takes in %q; English %q", lang, id, form, a, b)
				}
			}
		}
		for id := range got {
			if _, there := want[id]; !there {
				t.Errorf("%s: %s is not in English", lang, id)
			}
		}
	}
}

// used finds the ids that templates and code name in full.
var used = regexp.MustCompile(`(?:Text|Count|say|count)\(?\s*\(?"([a-z_]+(?:\.[a-z_]+)*)"`)

func TestEveryTextThatIsAskedForIsThere(t *testing.T) {
	t.Parallel()
	have := messages(t, "en")
	files, err := filepath.Glob("templates/*.html")
	if err != nil {
		t.Fatal(err)
	}
	pages, _ := filepath.Glob("templates/pages/*.html")
	code, _ := filepath.Glob("*.go")
	n := 0
	for _, name := range slices.Concat(files, pages, code) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range used.FindAllStringSubmatch(string(raw), -1) {
			n++
			if _, there := have[m[1]]; !there {
				t.Errorf("%s asks for %s, which is not there", name, m[1])
			}
		}
	}
	if n < 50 {
		t.Errorf("found only %d texts asked for: the search is wrong", n)
	}
}
