package console

import (
	"net/http"
	"strings"

	"github.com/sluicehq/sluice/admin"
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

// snippets are the ways to integrate; {url}, {host} and {item} are filled in. What they do is in docs/integrate.
var snippets = []snippet{
	{"check", `curl -s '{url}/v1/items/{item}/check' \
  -H 'Sluice-Visitor: <token of the answer before>'`},
	{"script", `<script src="{url}/sluice.js" data-item="{item}"></script>`},
	{"nginx", `upstream sluice { server 127.0.0.1:8080; }
upstream shop   { server 127.0.0.1:3000; }

server {
	server_name {host};
	proxy_set_header Host $http_host;
	proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
	proxy_set_header X-Forwarded-Proto $scheme;
	proxy_buffer_size 16k;
	proxy_buffers 8 16k;

	location / {
		auth_request /sluice;
		auth_request_set $sluice_wait $upstream_http_location;
		auth_request_set $sluice_cookie $upstream_http_set_cookie;
		error_page 401 = @sluice_wait;
		add_header Set-Cookie $sluice_cookie always;
		proxy_pass http://shop;
	}
	location ~ ^/(wait/|v1/items/|sluice\.js$|\.well-known/jwks\.json$) {
		proxy_pass http://sluice;
	}
	location = /sluice {
		internal;
		proxy_pass http://sluice/v1/authorize;
		proxy_pass_request_body off;
		proxy_set_header Host $http_host;
		proxy_set_header Content-Length '';
		proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
		proxy_set_header X-Forwarded-Proto $scheme;
		proxy_set_header X-Original-URI $request_uri;
		proxy_set_header X-Original-Method $request_method;
		proxy_set_header X-Sluice-Item '';
		proxy_set_header X-Forwarded-Host '';
		proxy_set_header X-Forwarded-Method '';
		proxy_set_header X-Forwarded-Uri '';
	}
	location @sluice_wait {
		add_header Set-Cookie $sluice_cookie always;
		add_header Cache-Control no-store always;
		return 302 $sluice_wait;
	}
}`},
	{"go", `guard, err := pass.NewMiddleware(pass.Options{
	Service: "{url}",
	Site:    "https://shop.example", // your site, as browsers see it
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
http.ListenAndServe(":3000", guard.Handler(mux))`},
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
	fill := strings.NewReplacer("{item}", string(b.Item), "{url}", b.URL, "{host}", b.Host)
	for _, s := range snippets {
		b.Snippets = append(b.Snippets, snippet{s.ID, fill.Replace(s.Text)})
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
