package demo

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"html/template"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

//go:embed shop.html
var shopFiles embed.FS

var shopPage = template.Must(template.ParseFS(shopFiles, "shop.html"))

// shop is a shop with one product. Its server asks Sluice before it shows the product's page, as any shop's would: one
// request, the visitor's cookie handed through in both directions.
type shop struct {
	node   *node
	url    string // http://host:port
	server *http.Server
}

func openShop(door net.Listener, n *node) *shop {
	s := &shop{node: n, url: "http://" + localhost(door.Addr().String())}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/product/"+item, http.StatusFound)
	})
	mux.HandleFunc("GET /product/"+item, s.product)
	mux.HandleFunc("POST /product/"+item, s.buy)
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = s.server.Serve(door) }() // ends with close
	return s
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
	Item, Reason, State string
	Waiting             int64
	Bought              bool
}

// product shows the product to those who may see it, and sends the others to the waiting page.
func (s *shop) product(w http.ResponseWriter, r *http.Request) {
	var answer struct {
		Action string `json:"action"`
		Reason string `json:"reason"`
		Queue  struct {
			State   string `json:"state"`
			Waiting int64  `json:"waiting"`
		} `json:"queue"`
		Place *struct {
			WaitURL string `json:"wait_url"`
		} `json:"place"`
	}
	back := url.Values{"return": {s.url + "/product/" + item}}
	resp, err := s.ask(r, http.MethodGet, "/check?"+back.Encode())
	if err == nil {
		defer resp.Body.Close()
		err = json.NewDecoder(resp.Body).Decode(&answer)
	}
	if err != nil {
		answer.Reason = "Sluice did not answer" // the page stays usable
	} else {
		hand(w, resp)
	}
	if answer.Action == "wait" && answer.Place != nil {
		http.Redirect(w, r, answer.Place.WaitURL, http.StatusSeeOther)
		return
	}
	s.page(w, view{Item: item, Reason: answer.Reason, State: answer.Queue.State, Waiting: answer.Queue.Waiting})
}

// buy places the order: the session ends, and the slot is free for the next.
func (s *shop) buy(w http.ResponseWriter, r *http.Request) {
	if resp, err := s.ask(r, http.MethodPost, "/finish"); err == nil {
		hand(w, resp)
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	s.page(w, view{Item: item, Bought: true})
}

// ask asks Sluice in the name of the shop's visitor.
func (s *shop) ask(r *http.Request, method, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(r.Context(), method, s.node.public+"/v1/items/"+item+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header["Cookie"] = r.Header["Cookie"]
	return s.node.http.Do(req)
}

// hand gives the visitor the cookie that Sluice has set.
func hand(w http.ResponseWriter, from *http.Response) {
	for _, c := range from.Header["Set-Cookie"] {
		w.Header().Add("Set-Cookie", c)
	}
}

func (s *shop) page(w http.ResponseWriter, v view) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	_ = shopPage.Execute(w, v) // the browser has gone
}
