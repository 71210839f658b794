package demo

import (
	"context"
	"embed"
	"errors"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/sluicehq/sluice/pass"
)

//go:embed shop.html
var shopFiles embed.FS

var shopPage = template.Must(template.ParseFS(shopFiles, "shop.html"))

// productPath is where the one product is.
const productPath = "/product/" + item

// shop is a shop with one product, behind the middleware as any Go service's pages can be: who has no pass while the queue
// is on never reaches the handlers.
type shop struct {
	guard  *pass.Middleware
	url    string // http://host:port
	server *http.Server
}

func openShop(door net.Listener, n *node) (*shop, error) {
	s := &shop{url: "http://" + localhost(door.Addr().String())}
	var err error
	s.guard, err = pass.NewMiddleware(pass.Options{
		Service: n.public, Site: s.url, FailOpen: true, Log: slog.New(slog.DiscardHandler),
		Item: func(r *http.Request) string {
			if r.URL.Path == productPath {
				return item
			}
			return ""
		},
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", http.RedirectHandler(productPath, http.StatusFound))
	mux.HandleFunc("GET "+productPath, s.product)
	mux.HandleFunc("POST "+productPath, s.buy)
	s.server = &http.Server{Handler: s.guard.Handler(mux), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = s.server.Serve(door) }() // ends with close
	return s, nil
}

func (s *shop) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return s.server.Close()
}

// view is what the page shows.
type view struct {
	Item   string
	Until  string // when the visitor's pass ends; "" = came in without one, so the queue is off
	Bought bool
}

func (s *shop) product(w http.ResponseWriter, r *http.Request) {
	v := view{Item: item}
	if claims, ok := pass.FromContext(r.Context()); ok {
		v.Until = claims.ExpiresAt.Local().Format("15:04:05")
	}
	s.page(w, v)
}

// buy places the order: the session ends, and the slot is free for the next.
func (s *shop) buy(w http.ResponseWriter, r *http.Request) {
	_ = s.guard.Finish(w, r) // Sluice is away: the session ends by itself
	s.page(w, view{Item: item, Bought: true})
}

func (s *shop) page(w http.ResponseWriter, v view) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	_ = shopPage.Execute(w, v) // the browser has gone
}
