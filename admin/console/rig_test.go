package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/app"
	"github.com/sluicehq/sluice/internal/browsertest"
	"github.com/sluicehq/sluice/internal/config"
)

func TestMain(m *testing.M) { browsertest.Main(m) }

const adminToken = "an-admin-token-for-tests-of-the-console"

// rig is a node with its console, the line in this process.
type rig struct {
	t       *testing.T
	node    *app.App
	console string // http://host:port/admin
	visitor string // http://host:port
	client  *http.Client
	log     *logBuffer
}

// logBuffer keeps what the node logs.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newRig(t *testing.T, with ...func(*config.Serve)) *rig {
	t.Helper()
	public, err := url.Parse("https://wait.shop.example")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, log: new(logBuffer), client: &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 256}}}
	cfg := config.Serve{
		Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0", OpsListen: "127.0.0.1:0", PublicURL: public, RedisPrefix: "sluice:",
		DataDir: filepath.Join(t.TempDir(), "data"), SecretKey: config.Keys{bytes.Repeat([]byte{7}, 32)},
		Roles: config.Roles{Gate: true, Scheduler: true, Admin: true}, BootstrapAdminToken: adminToken,
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		MoverTick:      250 * time.Millisecond, MaxStreams: 100, NodeID: "node", ShutdownTimeout: 15 * time.Second, AutoMigrate: true,
	}
	for _, f := range with {
		f(&cfg)
	}
	r.node, err = app.New(t.Context(), app.Options{Config: cfg, Log: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.node.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.client.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), cfg.ShutdownTimeout)
		defer cancel()
		if err := r.node.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
		if t.Failed() {
			t.Logf("log of the node:\n%s", r.log)
		}
	})
	at := r.node.Addresses()
	r.console, r.visitor = "http://"+at.Admin+"/admin", "http://"+at.Visitor
	return r
}

// api calls the admin API and fails the test where it answers no success.
func (r *rig) api(method, path string, body any) map[string]any {
	r.t.Helper()
	var in io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			r.t.Fatal(err)
		}
		in = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.console+"/api/v1"+path, in)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	if resp.StatusCode > 299 {
		r.t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, raw)
	}
	var got map[string]any
	_ = json.Unmarshal(raw, &got)
	return got
}

// open opens a page as somebody with a token.
func (r *rig) open(token string, o browsertest.Options) *browsertest.Page {
	r.t.Helper()
	o.Headers = map[string]string{"Authorization": "Bearer " + token}
	return browsertest.Open(r.t, o)
}

// answer is the part of a visitor's answer that people heed.
type answer struct {
	Action  string
	Visitor string
	Place   *struct {
		Ticket      string
		PollAfterMS int64 `json:"poll_after_ms"`
	}
	Pass *struct{ Token string }
}

// ask sends one request of a visitor.
func (r *rig) ask(ctx context.Context, path string, last answer) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.visitor+path, nil)
	if err != nil {
		return last, err
	}
	if last.Visitor != "" {
		req.Header.Set("Sluice-Visitor", last.Visitor)
	}
	if last.Place != nil {
		req.Header.Set("Sluice-Ticket", last.Place.Ticket)
	}
	if last.Pass != nil {
		req.Header.Set("Sluice-Pass", last.Pass.Token)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return last, err
	}
	defer resp.Body.Close()
	var now answer
	if err := json.NewDecoder(resp.Body).Decode(&now); err != nil {
		return last, err
	}
	if now.Visitor == "" {
		now.Visitor = last.Visitor
	}
	return now, nil
}

// join lines n visitors up, who never come back.
func (r *rig) join(item string, n int) {
	r.t.Helper()
	for range n {
		if _, err := r.ask(r.t.Context(), "/v1/items/"+item+"/check", answer{}); err != nil {
			r.t.Fatal(err)
		}
	}
}

// person waits, looks at the item for a while once let in, and goes.
func (r *rig) person(ctx context.Context, item string, stay time.Duration) {
	a, err := r.ask(ctx, "/v1/items/"+item+"/check", answer{})
	for ; err == nil && a.Action == "wait" && a.Place != nil; a, err = r.ask(ctx, "/v1/items/"+item+"/status", a) {
		if !pause(ctx, time.Duration(a.Place.PollAfterMS)*time.Millisecond) {
			return
		}
	}
	for end := time.Now().Add(stay); err == nil && time.Now().Before(end) && pause(ctx, 3*time.Second); {
		a, err = r.ask(ctx, "/v1/items/"+item+"/check", a)
	}
}

// crowd has people come to an item at a rate, until the context ends.
func (r *rig) crowd(ctx context.Context, wg *sync.WaitGroup, item string, perSecond float64, stay time.Duration) {
	wg.Go(func() {
		tick := time.NewTicker(time.Duration(float64(time.Second) / perSecond))
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				wg.Go(func() { r.person(ctx, item, stay) })
			}
		}
	})
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (r *rig) policy(pattern string, fields map[string]any) {
	r.t.Helper()
	r.api(http.MethodPatch, "/policies/"+url.PathEscape(pattern), fields)
}

func (r *rig) act(item, action string, body any) {
	r.t.Helper()
	r.api(http.MethodPost, fmt.Sprintf("/items/%s/%s", item, action), body)
}

func readAll(t *testing.T, resp *http.Response) string {
	t.Helper()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
