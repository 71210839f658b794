// Command shop is a small shop to try the ways of integration with: a page for each product, at /product/{item}, and a form
// that buys it. Behind a proxy or at the edge it stands as it is:
//
//	go run ./examples/shop
//
// With the address of Sluice, the middleware guards its product pages:
//
//	go run ./examples/shop --sluice http://localhost:8080
package main

import (
	"flag"
	"fmt"
	"html"
	"log"
	"net/http"
	"strings"

	"github.com/sluicehq/sluice/pass"
)

func main() {
	listen := flag.String("listen", "localhost:3000", "where the shop is")
	service := flag.String("sluice", "", "the public URL of Sluice; empty = the shop is not guarded")
	flag.Parse()

	s := &shop{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /product/{item}", s.product)
	mux.HandleFunc("POST /product/{item}", s.buy)
	mux.HandleFunc("GET /static/style.css", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "body { margin: 3em }") })
	guarded, err := s.guarded(*service, mux)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("the shop is at http://%s/product/sku-1", *listen)
	log.Fatal(http.ListenAndServe(*listen, guarded))
}

// shop sells anything.
type shop struct{ guard *pass.Middleware }

// guarded puts the middleware in front of the pages, if there is a service.
func (s *shop) guarded(service string, pages http.Handler) (http.Handler, error) {
	if service == "" {
		return pages, nil
	}
	var err error
	s.guard, err = pass.NewMiddleware(pass.Options{Service: service, Item: item})
	if err != nil {
		return nil, err
	}
	return s.guard.Handler(pages), nil
}

// item names the item of a product's page; other pages have no queue.
func item(r *http.Request) string {
	if name, found := strings.CutPrefix(r.URL.Path, "/product/"); found {
		return name
	}
	return ""
}

func (s *shop) product(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<title>%[1]s</title><h1>%[1]s</h1><form method=post><button>Buy</button></form>\n", html.EscapeString(r.PathValue("item")))
}

func (s *shop) buy(w http.ResponseWriter, r *http.Request) {
	if s.guard != nil {
		if err := s.guard.Finish(w, r); err != nil {
			log.Print(err) // the session ends by itself
		}
	}
	fmt.Fprintf(w, "%s is yours.\n", r.PathValue("item"))
}
