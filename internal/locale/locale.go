// Package locale finds the words of a page in the reader's language: message files of one language each, plural forms by
// the rules of CLDR, and numbers written as the language writes them.
package locale

import (
	"fmt"
	"io/fs"
	"math"
	"path"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"
)

// Catalogue holds the words in all languages. Read only once made.
type Catalogue struct {
	all     []*Words // the first is the default
	matcher language.Matcher
}

// Words are those of one language. Safe for use by many goroutines.
type Words struct {
	Lang      string // BCP 47, as the file is named
	localizer *i18n.Localizer
	printer   *message.Printer
}

// Load reads the files <language>.yaml of a folder, in the order of languages; the first is the default, for readers of
// other languages. A file holds messages by id: a text, or its plural forms (one, other, …); ids may be nested.
// A text names what it takes in: {{.item}}.
func Load(files fs.FS, languages ...string) (*Catalogue, error) {
	c := &Catalogue{}
	var tags []language.Tag
	for _, lang := range languages {
		tag, err := language.Parse(lang)
		if err != nil {
			return nil, fmt.Errorf("language %s: %w", lang, err)
		}
		raw, err := fs.ReadFile(files, lang+".yaml")
		if err != nil {
			return nil, err
		}
		bundle := i18n.NewBundle(tag)
		bundle.RegisterUnmarshalFunc("yaml", func(b []byte, v any) error { return yaml.Unmarshal(b, v) })
		if _, err := bundle.ParseMessageFileBytes(raw, path.Join("active."+lang+".yaml")); err != nil {
			return nil, fmt.Errorf("messages of %s: %w", lang, err)
		}
		tags = append(tags, tag)
		c.all = append(c.all, &Words{Lang: lang, localizer: i18n.NewLocalizer(bundle, lang), printer: message.NewPrinter(tag)})
	}
	c.matcher = language.NewMatcher(tags)
	return c, nil
}

// All gives the words of each language, the default first.
func (c *Catalogue) All() []*Words { return c.all }

// mostAccept bounds how much of an Accept-Language header is read.
const mostAccept = 400

// Choose gives the words of the first wish that names a language there is (?lang=, a cookie), else of the one that
// Accept-Language likes best, else the default.
func (c *Catalogue) Choose(accept string, wishes ...string) *Words {
	for _, wish := range wishes {
		for _, w := range c.all {
			if strings.EqualFold(wish, w.Lang) {
				return w
			}
		}
	}
	if len(accept) > mostAccept {
		accept = accept[:max(0, strings.LastIndexByte(accept[:mostAccept], ','))]
	}
	tags, _, err := language.ParseAcceptLanguage(accept)
	if err != nil {
		return c.all[0]
	}
	_, i, confidence := c.matcher.Match(tags...)
	if confidence == language.No {
		return c.all[0]
	}
	return c.all[i]
}

// Text gives a message; values are pairs of name and value that it takes in. An id that is not there is given back as it
// is, which tests look for.
func (w *Words) Text(id string, values ...any) string {
	return w.get(&i18n.LocalizeConfig{MessageID: id, TemplateData: w.pairs(values)})
}

// Count gives the form of a message that fits a number, which the message calls {{.n}}.
func (w *Words) Count(id string, n int64, values ...any) string {
	return w.get(&i18n.LocalizeConfig{MessageID: id, PluralCount: clamp(n), TemplateData: w.pairs(append(values, "n", n))})
}

// Has reports whether there is such a message.
func (w *Words) Has(id string) bool { return w.Text(id) != id }

// clamp gives the number that chooses the form: plural rules take machine words on all platforms.
func clamp(n int64) int { return int(max(math.MinInt32, min(math.MaxInt32, n))) }

func (w *Words) get(c *i18n.LocalizeConfig) string {
	text, err := w.localizer.Localize(c)
	if err != nil && text == "" {
		return c.MessageID
	}
	return text
}

func (w *Words) pairs(values []any) map[string]any {
	data := make(map[string]any, len(values)/2)
	for i := 0; i+1 < len(values); i += 2 {
		name, _ := values[i].(string)
		data[name] = w.show(values[i+1])
	}
	return data
}

// show writes numbers as the language does.
func (w *Words) show(v any) any {
	switch n := v.(type) {
	case int:
		return w.Number(float64(n))
	case int64:
		return w.Number(float64(n))
	case float64:
		return w.Number(n)
	}
	return v
}

// Number writes a number: whole from 100 on, with at most two digits after the point below that.
func (w *Words) Number(n float64) string {
	digits := 2
	if math.Abs(n) >= 100 {
		digits = 0
	}
	return w.printer.Sprint(number.Decimal(n, number.MaxFractionDigits(digits)))
}
