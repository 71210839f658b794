// Package console is the web console: pages for operators and marketing, rendered on the server, that work with a
// keyboard, a screen reader and a phone, and load nothing from anywhere else. It calls the same functions as the admin
// API and owns nothing itself.
//
// One file holds one page; routes.go shows all addresses and roles on one screen. The words are in locales/, one file a
// language.
package console

import (
	"context"
	"embed"
	"html/template"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/admin"
	"github.com/sluicehq/sluice/admin/live"
	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/internal/locale"
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
)

//go:embed templates
var templateFiles embed.FS

//go:embed locales
var localeFiles embed.FS

// Languages are those the console speaks, the default first.
var Languages = []string{"en", "ko"}

// finder is what the console calls of the line itself.
type finder interface {
	Find(ctx context.Context, item queue.Item, v queue.Visitor) (queue.Standing, error)
}

// Options configures a Console. Admin, Readings, Settings, Line, Store and WritePage are required; the zero value of every other
// field is its default.
type Options struct {
	Admin     *admin.Admin // what is done, and who may
	Readings  *live.Readings
	Settings  *settings.Holder
	Line      finder
	Store     *sqlstore.Store // what is only read
	PublicURL string          // what visitors' browsers see
	// WritePage writes the waiting page as it looks in one of PageStates, and gives the content security policy it needs.
	WritePage  func(w io.Writer, s Sample) (policy string, err error)
	PageStates []string
	StoreUp    func() bool  // nil = always
	Clock      clock.Clock  // nil = clock.System
	Log        *slog.Logger // nil = slog.Default()
	// Around is run around each request, before anything else.
	Around []gin.HandlerFunc
}

// Console serves the pages.
type Console struct {
	o       Options
	words   *locale.Catalogue
	assets  assets
	pages   map[string]*template.Template
	handler http.Handler
	streams atomic.Int64
	closed  chan struct{}
	close   func()
}

// New makes a Console.
func New(o Options) (*Console, error) {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.StoreUp == nil {
		o.StoreUp = func() bool { return true }
	}
	c := &Console{o: o, closed: make(chan struct{})}
	c.close = sync.OnceFunc(func() { close(c.closed) })
	var err error
	files, err := fs.Sub(localeFiles, "locales")
	if err != nil {
		return nil, err
	}
	if c.words, err = locale.Load(files, Languages...); err != nil {
		return nil, err
	}
	if c.assets, err = newAssets(); err != nil {
		return nil, err
	}
	if c.pages, err = parsePages(); err != nil {
		return nil, err
	}
	c.handler = c.routes()
	return c, nil
}

// Handler serves the pages below /admin/.
func (c *Console) Handler() http.Handler { return c.handler }

// Close ends the live streams, so that a server can be shut down.
func (c *Console) Close() { c.close() }

// parsePages reads the templates: each file of pages/ with the layout and the parts that pages share.
func parsePages() (map[string]*template.Template, error) {
	shared, err := template.New("").Funcs(template.FuncMap{"on": on}).ParseFS(templateFiles, "templates/*.html")
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(templateFiles, "templates/pages/*.html")
	if err != nil {
		return nil, err
	}
	pages := map[string]*template.Template{}
	for _, name := range names {
		t, err := shared.Clone()
		if err != nil {
			return nil, err
		}
		if t, err = t.ParseFS(templateFiles, name); err != nil {
			return nil, err
		}
		pages[strings.TrimSuffix(path.Base(name), ".html")] = t
	}
	return pages, nil
}
