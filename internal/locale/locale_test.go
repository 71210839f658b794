package locale

import (
	"testing"
	"testing/fstest"
)

func catalogue(t *testing.T) *Catalogue {
	t.Helper()
	c, err := Load(fstest.MapFS{
		"en.yaml": {Data: []byte("line:\n  people:\n    one: \"{{.n}} person of {{.item}}\"\n    other: \"{{.n}} people of {{.item}}\"\nhello: Hello {{.who}}\n")},
		"ko.yaml": {Data: []byte("line:\n  people:\n    other: \"{{.item}} {{.n}}명\"\nhello: \"{{.who}} 안녕\"\n")},
		"de.yaml": {Data: []byte("line:\n  people:\n    one: \"{{.n}} Mensch bei {{.item}}\"\n    other: \"{{.n}} Menschen bei {{.item}}\"\nhello: Hallo {{.who}}\n")},
	}, "en", "ko", "de")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestChoose(t *testing.T) {
	t.Parallel()
	c := catalogue(t)
	for _, tc := range []struct {
		name, accept string
		wishes       []string
		want         string
	}{
		{"nothing said is the default", "", nil, "en"},
		{"a wish wins over the header", "ko", []string{"de"}, "de"},
		{"the first wish that is there wins", "", []string{"", "fr", "ko", "de"}, "ko"},
		{"the header's best that is there", "fr, ko;q=0.8, de;q=0.9", nil, "de"},
		{"a region is its language", "ko-KR", nil, "ko"},
		{"a language that is not there is the default", "fr", nil, "en"},
		{"nonsense is the default", ";;q=x,,,", nil, "en"},
		{"a star is the default", "*", nil, "en"},
		{"a nul is the default", "ko\x00", nil, "en"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := c.Choose(tc.accept, tc.wishes...).Lang; got != tc.want {
				t.Errorf("got %s; want %s", got, tc.want)
			}
		})
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	c := catalogue(t)
	en, ko, de := c.All()[0], c.All()[1], c.All()[2]
	for _, tc := range []struct{ name, got, want string }{
		{"one in English", en.Count("line.people", 1, "item", "a"), "1 person of a"},
		{"none in English", en.Count("line.people", 0, "item", "a"), "0 people of a"},
		{"many in English", en.Count("line.people", 1234567, "item", "a"), "1,234,567 people of a"},
		{"one in Korean has no form of its own", ko.Count("line.people", 1, "item", "a"), "a 1명"},
		{"many in German", de.Count("line.people", 1234, "item", "a"), "1.234 Menschen bei a"},
		{"more than a machine word of some", en.Count("line.people", 1<<40, "item", "a"), "1,099,511,627,776 people of a"},
		{"a text that looks like a template is a text", en.Text("hello", "who", "{{.n}}"), "Hello {{.n}}"},
		{"an id that is not there", en.Text("nothing"), "nothing"},
		{"a fraction", de.Number(0.25), "0,25"},
		{"a fraction of much", en.Number(1042.7), "1,043"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if tc.got != tc.want {
				t.Errorf("got %q; want %q", tc.got, tc.want)
			}
		})
	}
}
