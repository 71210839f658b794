package pass_test

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/pass"
)

// A shop whose product pages are guarded. Everybody with a valid pass goes on without a call of anybody; all others are
// asked about.
func ExampleMiddleware() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /product/", func(w http.ResponseWriter, r *http.Request) {
		if claims, ok := pass.FromContext(r.Context()); ok {
			fmt.Fprintf(w, "Welcome, visitor %s.", claims.Visitor)
		}
	})

	guard, err := pass.NewMiddleware(pass.Options{
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
	log.Fatal(http.ListenAndServe(":3000", guard.Handler(mux)))
}

// The order is placed: the slot is free for the next at once.
func ExampleMiddleware_Finish() {
	var guard *pass.Middleware // as above
	http.HandleFunc("POST /order", func(w http.ResponseWriter, r *http.Request) {
		// … the order is placed …
		if err := guard.Finish(w, r); err != nil {
			log.Print(err) // the session ends by itself
		}
		fmt.Fprintln(w, "Thank you!")
	})
}

// What the document shows is the example, which compiles.
func TestTheDocumentShowsTheExample(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/integrate/go.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_middleware_test.go")
	if err != nil {
		t.Fatal(err)
	}
	indent := regexp.MustCompile(`(?m)^\t+`)
	plain := indent.ReplaceAllString(string(source), "")
	blocks := regexp.MustCompile("(?ms)^```go\n(.*?)^```").FindAllStringSubmatch(string(doc), -1)
	for _, block := range blocks {
		if !strings.Contains(plain, indent.ReplaceAllString(block[1], "")) {
			t.Errorf("not in the example:\n%s", block[1])
		}
	}
	if len(blocks) == 0 {
		t.Error("the document shows no code")
	}
}
