// Package page is the waiting page: one HTML document that needs nothing from elsewhere, and works without JavaScript and
// without cookies. What it says is worked out here, in seven languages; with JavaScript the same words go on by
// themselves.
package page

import (
	"embed"
	"html/template"
	"io"
	"io/fs"

	"github.com/sluicehq/sluice/internal/locale"
)

//go:embed page.html error.html page.css page.js locales
var files embed.FS

// languages are those of the page; the first is for people who read none of the others.
var languages = []string{"en", "ko", "ja", "zh", "es", "de", "fr"}

// Pages writes pages. Safe for use by many goroutines.
type Pages struct {
	catalogue *locale.Catalogue
	script    map[string]scriptWords // by language
	style     template.CSS
	templates *template.Template
}

// New reads words and documents; an error is a fault of the program.
func New() (*Pages, error) {
	p := &Pages{script: map[string]scriptWords{}}
	locales, err := fs.Sub(files, "locales")
	if err != nil {
		return nil, err
	}
	if p.catalogue, err = locale.Load(locales, languages...); err != nil {
		return nil, err
	}
	for _, w := range p.catalogue.All() {
		p.script[w.Lang] = wordsOfScript(w)
	}
	style, err := files.ReadFile("page.css")
	if err != nil {
		return nil, err
	}
	p.style = template.CSS(style)
	script, err := files.ReadFile("page.js")
	if err != nil {
		return nil, err
	}
	p.templates, err = template.New("").Funcs(template.FuncMap{
		"style":  func() template.CSS { return p.style },
		"script": func() template.JS { return template.JS(script) },
	}).ParseFS(files, "*.html")
	return p, err
}

// Choose gives the words of the language asked for (?lang=), else of the one that Accept-Language likes best, else English.
func (p *Pages) Choose(asked, accept string) *locale.Words {
	return p.catalogue.Choose(accept, primary(asked))
}

// primary is the language of a tag without its region: ko of ko-KR.
func primary(tag string) string {
	for i := range len(tag) {
		if tag[i] == '-' {
			return tag[:i]
		}
	}
	return tag
}

// Write writes the page. The answer's Content-Security-Policy must be d.Policy().
func (p *Pages) Write(w io.Writer, d *Data) error {
	return p.templates.ExecuteTemplate(w, "page.html", p.view(d))
}

// WriteError writes the page for a visitor whom the site could not let in.
func (p *Pages) WriteError(w io.Writer, d *ErrorData) error {
	return p.templates.ExecuteTemplate(w, "error.html", d)
}
