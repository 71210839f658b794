// Package sitetest gives tests a site as a shop has it: a node of Sluice, whole and without a store, and an origin that
// says what reached it. Whatever stands between the two, a proxy or a worker, is the test's.
package sitetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/app"
	"github.com/sluicehq/sluice/internal/config"
	"github.com/sluicehq/sluice/internal/ticket"
	"github.com/sluicehq/sluice/queue"
)

const adminToken = "an-admin-token-for-tests-of-sites"

var secret = config.Keys{bytes.Repeat([]byte{7}, 32)}

// Patterns are the item patterns of the node.
var Patterns = []string{"/product/{item}", "/sale=bf"}

// Site is a running node and an origin.
type Site struct {
	Sluice string // the visitor listener's address, http://host:port
	Origin *Origin

	t      testing.TB
	admin  string
	public string // what visitors see of Sluice
	app    *app.App
	stop   func()
}

// New starts both; they end with the test. public is what visitors see of Sluice, "" = the node itself.
func New(t testing.TB, public string) *Site {
	t.Helper()
	s := &Site{t: t, Origin: newOrigin(t)}
	at := "127.0.0.1:0"
	if public == "" {
		at = FreeAddr(t)
		public = "http://" + at
	}
	s.public = public
	address, err := url.Parse(public)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	s.app, err = app.New(ctx, app.Options{
		Log: slog.New(slog.DiscardHandler),
		Config: config.Serve{
			Listen: at, AdminListen: "127.0.0.1:0", OpsListen: "127.0.0.1:0", PublicURL: address, DataDir: t.TempDir(),
			SecretKey: secret, Roles: config.Roles{Gate: true, Scheduler: true, Admin: true},
			BootstrapAdminToken: adminToken, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
			MoverTick: 50 * time.Millisecond, MaxStreams: 10, NodeID: "site", ShutdownTimeout: 5 * time.Second, AutoMigrate: true,
			ItemPatterns: Patterns,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.app.Start(ctx); err != nil {
		t.Fatal(err)
	}
	s.stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		_ = s.app.Stop(ctx) // streams that a proxy holds open are cut
	})
	t.Cleanup(s.stop)
	s.Sluice, s.admin = "http://"+s.app.Addresses().Visitor, "http://"+s.app.Addresses().Admin
	return s
}

// StopSluice ends the node; the origin goes on.
func (s *Site) StopSluice() { s.stop() }

// Call calls the admin API, as in Call("PATCH", "/policies/*", `{…}`), and gives the body.
func (s *Site) Call(method, path, body string) string {
	s.t.Helper()
	req, err := http.NewRequest(method, s.admin+"/admin/api/v1"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode >= 300 {
		s.t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, text)
	}
	return string(text)
}

// On turns an item's queue on, if it is not, and sets its inflow: in the policy first, or what is due at the usual inflow
// by the time that the other is set would let somebody in at once.
func (s *Site) On(item string, inflowPerSecond float64) {
	s.t.Helper()
	inflow := fmt.Sprintf(`{"inflow_per_second": %v}`, inflowPerSecond)
	s.Call("PATCH", "/policies/"+item, inflow)
	s.Call("POST", "/items/"+item+"/activate", "")
	s.Call("POST", "/items/"+item+"/inflow", inflow)
}

// Pass signs a pass as the node does, for somebody at an item.
func (s *Site) Pass(item string, issued time.Time, lasts time.Duration) string {
	s.t.Helper()
	keys, err := app.Keyring(secret)
	if err != nil {
		s.t.Fatal(err)
	}
	signing, _ := keys.PassKeys()
	return signing.Sign(keys.Claims(s.public, queue.Item(item), queue.NewVisitor(), ticket.PassStub{
		Generation: 1 << 60, IssuedMS: issued.UnixMilli(), EndsMS: issued.Add(lasts).UnixMilli(), // of whatever generation
	}))
}

// Origin is the service behind: it answers with method, address and body, and keeps what it saw.
type Origin struct {
	URL string

	mu   sync.Mutex
	seen []*http.Request
}

func newOrigin(t testing.TB) *Origin {
	o := &Origin{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		o.seen = append(o.seen, r.Clone(context.Background()))
		o.mu.Unlock()
		if r.Header.Get("Upgrade") == "websocket" {
			echo(w)
			return
		}
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Cache-Control", "public, max-age=60")
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, body)
	}))
	t.Cleanup(server.Close)
	o.URL = server.URL
	return o
}

// echo answers an upgrade, then sends back what comes, as a service with a socket does.
func echo(w http.ResponseWriter) {
	conn, buffer, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = conn.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"))
	_, _ = io.Copy(conn, buffer)
}

// Seen are the requests so far.
func (o *Origin) Seen() []*http.Request {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.seen)
}

// Browser keeps cookies, follows no redirect, and takes any certificate.
func Browser(transport http.RoundTripper) *http.Client {
	jar, _ := cookiejar.New(nil)
	return &http.Client{
		Jar: jar, Timeout: patience, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Get opens an address with further headers: name, value, …; it gives the answer and its body.
func Get(t testing.TB, c *http.Client, address string, headers ...string) (*http.Response, string) {
	t.Helper()
	return Do(t, c, "GET", address, "", headers...)
}

// Do is Get with a method and a body.
func Do(t testing.TB, c *http.Client, method, address, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp, string(text)
}

// patience is how long something may take that takes a moment on a machine with nothing else to do.
const patience = time.Minute

// Until asks again and again, for at most a minute, until done says so.
func Until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); <-time.After(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// FreeAddr gives a loopback address that nobody listens on.
func FreeAddr(t testing.TB) string {
	t.Helper()
	free := httptest.NewUnstartedServer(nil)
	defer free.Listener.Close()
	return free.Listener.Addr().String()
}
