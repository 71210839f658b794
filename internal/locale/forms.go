package locale

import (
	"github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

// Forms gives the plural forms of a message by their CLDR names, with {n} where the number goes, for pages that choose
// the form themselves (Intl.PluralRules). A form that no whole number up to a hundred has is left out: pages take other.
func (w *Words) Forms(id string, values ...any) map[string]string {
	data := w.pairs(append(values, "n", "{n}"))
	tag := language.Make(w.Lang)
	forms := map[string]string{}
	for n := range 101 {
		name := formNames[plural.Cardinal.MatchPlural(tag, n, 0, 0, 0, 0)]
		if _, there := forms[name]; !there {
			forms[name] = w.get(&i18n.LocalizeConfig{MessageID: id, PluralCount: n, TemplateData: data})
		}
	}
	return forms
}

var formNames = map[plural.Form]string{
	plural.Other: "other", plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many",
}
