package console

import (
	"net/http"
	"strings"

	"github.com/sluicehq/sluice/admin"
	"github.com/sluicehq/sluice/deploy/proxies"
	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
)

// integrateBody is what the page of snippets shows.
type integrateBody struct {
	Item      queue.Item
	Fault     string
	URL       string // what visitors' browsers see
	Host      string
	Snippets  []snippet
	Connector admin.ConnectorView // of admins alone: it holds a secret
}

// snippet is something to copy, filled in for this server.
type snippet struct {
	ID   string // of its title and hint in the words
	Text string
}

// snippets are the ways to integrate. What they do is in docs/integrate; its examples and those of deploy/proxies are these.
var snippets = []snippet{
	{"check", `curl -s 'https://queue.example/v1/items/sku-1/check' \
  -H 'Sluice-Visitor: <token of the answer before>'`},
	{"script", `<script src="https://queue.example/sluice.js" data-item="sku-1"></script>`},
	{"nginx", proxies.Nginx},
	{"caddy", proxies.Caddy},
	{"go", `guard, err := pass.NewMiddleware(pass.Options{
	Service: "https://queue.example", // the --public-url of Sluice
	Site:    "https://shop.example",  // this site, as browsers see it
	Item: func(r *http.Request) string {
		item, found := strings.CutPrefix(r.URL.Path, "/product/")
		if !found {
			return "" // other pages have no queue
		}
		return item
	},
})
if err != nil {
	log.Fatal(err)
}
log.Fatal(http.ListenAndServe(":3000", guard.Handler(mux)))`},
}

// fill puts this server and an item in the place of the names of the examples.
func fill(text, url, host string, item queue.Item) string {
	name, _, _ := strings.Cut(host, ":")
	return strings.NewReplacer(
		"https://queue.example", url, "sku-1", string(item),
		"server_name shop.example", "server_name "+name, "--public-url https://shop.example", "--public-url "+url, // proxies: one host for both
		"\n:8000 {", "\n"+url+" {",
	).Replace(text)
}

// integrate is GET /integrate?item=.
func (c *Console) integrate(p *page) error {
	b := integrateBody{Item: "sku-1", URL: strings.TrimSuffix(c.o.PublicURL, "/")}
	if asked := p.gin.Query("item"); asked != "" {
		item, err := queue.ParseItem(asked)
		if err != nil {
			b.Fault = p.faultText(err)
		} else {
			b.Item = item
		}
	}
	_, b.Host, _ = strings.Cut(b.URL, "://")
	b.Host, _, _ = strings.Cut(b.Host, "/")
	for _, s := range snippets {
		b.Snippets = append(b.Snippets, snippet{s.ID, fill(s.Text, b.URL, b.Host, b.Item)})
	}
	if p.Who.May(sqlstore.Admin) {
		var err error
		if b.Connector, err = c.o.Admin.Connector(); err != nil {
			return err
		}
	}
	p.Section, p.Title, p.Body = "integrate", p.Text("integrate.title"), b
	return p.show(http.StatusOK, "integrate")
}
