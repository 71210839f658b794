package pass_test

import (
	"fmt"
	"log"
	"net/http"
	"strings"

	"github.com/sluicehq/sluice/pass"
)

// A shop whose product pages are guarded. Everybody with a valid pass goes on without a call of anybody; all others are
// asked about.
func ExampleMiddleware() {
	guard, err := pass.NewMiddleware(pass.Options{
		Service: "https://queue.example",
		Site:    "https://shop.example",
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
	mux := http.NewServeMux()
	mux.HandleFunc("/product/", func(w http.ResponseWriter, r *http.Request) {
		if claims, ok := pass.FromContext(r.Context()); ok {
			fmt.Fprintf(w, "Welcome, visitor %s.", claims.Visitor)
		}
	})
	mux.HandleFunc("/metrics", guard.ServeMetrics)
	server := &http.Server{Addr: ":3000", Handler: guard.Handler(mux)}
	_ = server // server.ListenAndServe()
}
