package page

import (
	"bytes"
	"compress/gzip"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
)

var update = flag.Bool("update", false, "write the golden files anew")

var noon = time.Date(2026, 12, 4, 12, 0, 0, 0, time.UTC)

func pages(t testing.TB) *Pages {
	t.Helper()
	p, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func render(t testing.TB, p *Pages, d *Data) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A policy may hold texts in each language of the page, and in no other.
func TestPoliciesKnowTheLanguagesOfThePage(t *testing.T) {
	t.Parallel()
	if got := slices.Sorted(slices.Values(languages)); !slices.Equal(got, queue.PageLanguages) {
		t.Errorf("the page speaks %v, policies know %v", got, queue.PageLanguages)
	}
}

var (
	code = regexp.MustCompile(`(?s)<(?:style|script)[^>]*>.*?</(?:style|script)>|<head>.*?<title>|</title>`)
	tags = regexp.MustCompile(`<[^>]*>`)
	gaps = regexp.MustCompile(`\s*\n\s*`)
)

// words are the texts of a page, hidden ones too, a line each.
func words(document string) string {
	return strings.TrimSpace(gaps.ReplaceAllString(tags.ReplaceAllString(code.ReplaceAllString(document, "\n"), "\n"), "\n")) + "\n"
}

func TestThePageSaysTheSameAsBeforeInEachStateAndLanguage(t *testing.T) {
	t.Parallel()
	p := pages(t)
	for _, lang := range languages {
		var all strings.Builder
		for _, state := range States() {
			document := render(t, p, p.Sample(queue.WaitPage{}, state, lang, noon))
			all.WriteString("== " + state + "\n" + words(document))
		}
		got, name := all.String(), filepath.Join("testdata", lang+".txt")
		if strings.Contains(got, "<no value>") || regexp.MustCompile(`\b(heading|line|next|place|wait|turn|leave)\.[a-z_]+\b`).MatchString(got) {
			t.Errorf("%s lacks words:\n%s", lang, got)
		}
		if *update {
			if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs from %s (-update writes it anew):\n%s", lang, name, got)
		}
	}
}

// The whole page is one answer, and small.
func TestThePageWeighsLittle(t *testing.T) {
	t.Parallel()
	p := pages(t)
	for _, lang := range languages {
		d := p.Sample(queue.WaitPage{}, "waiting", lang, noon)
		d.Sample, d.Refresh = false, time.Second
		d.Visitor, d.Ticket = strings.Repeat("v", 200), strings.Repeat("t", 200)
		document := render(t, p, d)
		var small bytes.Buffer
		z, _ := gzip.NewWriterLevel(&small, gzip.BestSpeed)
		z.Write([]byte(document))
		z.Close()
		if small.Len() > 12<<10 || len(document) > 40<<10 {
			t.Errorf("%s: %d bytes, %d with gzip", lang, len(document), small.Len())
		}
		if regexp.MustCompile(`(?i)(src|href)="?http|url\(|@import`).MatchString(document) {
			t.Errorf("%s: the page asks somebody else", lang)
		}
	}
}

// B148: a header made to be slow to read. Each is far below the 20 ms that a page may take for it.
func BenchmarkALanguageOfAHostileHeader(b *testing.B) {
	p := pages(b)
	for name, accept := range map[string]string{
		"extensions": strings.Repeat("en-u-", 3000), "dashes": strings.Repeat("-", 15000), "subtags": strings.Repeat("a-b-c-", 2500), "languages": strings.Repeat("de,", 4000),
		"private": "zh-Hant-TW-u-co-phonebk-x-" + strings.Repeat("private-", 1800), "plain": "ko-KR,ko;q=0.9,en;q=0.8",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				p.Choose("", accept)
			}
		})
	}
}

func TestWaitsAreRangesThatHoldTheEstimate(t *testing.T) {
	t.Parallel()
	p := pages(t)
	const m = time.Minute
	for _, tc := range []struct {
		lang      string
		low, high time.Duration
		want      string
	}{
		{"en", 0, 59 * time.Second, "less than a minute"},
		{"en", 10 * time.Second, 60 * time.Second, "up to 1 minute"},
		{"en", 20 * time.Second, 61 * time.Second, "up to 2 minutes"},
		{"en", 4*m + 10*time.Second, 6*m - time.Second, "4–6 minutes"},
		{"en", 5 * m, 5 * m, "about 5 minutes"},
		{"en", 200 * m, 239 * m, "200–239 minutes"},
		{"en", 200 * m, 241 * m, "3–5 hours"},
		{"ko", 4 * m, 6 * m, "4~6분"},
		{"de", 61 * time.Second, 2 * m, "1–2 Minuten"},
		{"fr", 10 * time.Second, m, "jusqu’à 1 minute"},
		{"es", m, m, "aproximadamente 1 minuto"},
		{"ja", 0, time.Second, "1分以内"},
		{"zh", 3 * m, 9 * m, "3–9 分钟"},
	} {
		if got := waits(p.Choose(tc.lang, ""), queue.Estimate{Known: true, Low: tc.low, High: tc.high}); got != tc.want {
			t.Errorf("%s %v to %v: %q; want %q", tc.lang, tc.low, tc.high, got, tc.want)
		}
	}
	if got := waits(p.Choose("en", ""), queue.Estimate{}); got != "not known at the moment" {
		t.Errorf("unknown: %q", got)
	}
}

// place-keeps, for the bar: it never moves back, whatever becomes of the estimate.
func TestTheBarOnlyMovesForward(t *testing.T) {
	t.Parallel()
	d := &Data{Action: "wait", Position: 9, Now: noon, JoinedAt: noon.Add(-time.Minute), Eta: queue.Estimate{Known: true, Wait: time.Minute}}
	if d.Way() != 50 {
		t.Fatalf("half way: %d", d.Way())
	}
	d.Moved, d.Eta.Wait = d.Way(), time.Hour
	if d.Way() != 50 {
		t.Errorf("a longer wait: %d", d.Way())
	}
	d.Eta = queue.Estimate{}
	if d.Way() != 50 {
		t.Errorf("paused: %d", d.Way())
	}
	d.Moved = 1000
	if d.Way() != 99 {
		t.Errorf("made up: %d", d.Way())
	}
}

func TestThemesStayReadable(t *testing.T) {
	t.Parallel()
	variable := regexp.MustCompile(`--([a-z-]+):(#[0-9a-f]{6});`)
	for _, colours := range []map[string]string{
		{"accent": "#ff0"}, {"accent": "#000"}, {"accent": "#0a7"}, {"background": "#fff"}, {"background": "#111827", "accent": "#f97316"},
		{"text": "#eee"}, {"text": "#777", "background": "#888"}, {"background": "#0a7", "text": "#0a8", "accent": "#0a7"}, {"background": "#808080"},
	} {
		for part := range strings.SplitSeq(string(theme(colours)), "@media") {
			c := map[string]rgb{"card": lightCard, "background": lightCard, "text": black}
			if strings.Contains(part, "dark") && !strings.Contains(part, "--card") {
				c["card"], c["background"], c["text"] = darkCard, darkCard, white
			}
			for _, m := range variable.FindAllStringSubmatch(part, -1) {
				c[m[1]], _ = parseColour(m[2])
			}
			for _, pair := range [][2]string{{"text", "card"}, {"number", "card"}, {"on-accent", "accent"}, {"muted", "card"}} {
				a, ok := c[pair[0]]
				b, there := c[pair[1]]
				if ok && there && contrast(a, b) < readable-0.1 {
					t.Errorf("%v: %s on %s: %.2f", colours, pair[0], pair[1], contrast(a, b))
				}
			}
		}
	}
	if got := theme(map[string]string{"accent": "red;}body{display:none"}); got != "" {
		t.Errorf("what is no colour: %s", got)
	}
}

func TestTheTagChangesWithEveryTextAndColour(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, look := range []queue.WaitPage{
		{}, {Title: map[string]string{"en": "a"}}, {Title: map[string]string{"ko": "a"}}, {Message: map[string]string{"en": "a"}},
		{LogoURL: "a"}, {AfterURL: "a"}, {Theme: map[string]string{"accent": "#fff"}}, {Theme: map[string]string{"text": "#fff"}},
	} {
		if tag := Tag(&look); seen[tag] || tag != Tag(&look) {
			t.Errorf("%+v: %s", look, tag)
		} else {
			seen[tag] = true
		}
	}
}
