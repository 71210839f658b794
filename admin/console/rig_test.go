package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/app"
	"github.com/sluicehq/sluice/internal/browsertest"
	"github.com/sluicehq/sluice/internal/config"
)

// besides are the tests that run at once: most of their time they wait for a page, not for a processor.
const besides = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", besides); err != nil {
		panic(err)
	}
	code := m.Run()
	code = max(code, common.end())
	browsertest.End()
	os.Exit(code)
}

const adminToken = "an-admin-token-for-tests-of-the-console"

// rig is a node with its console, the line in this process.
type rig struct {
	t *testing.T
	*node
}

// node is what tests share.
type node struct {
	app     *app.App
	console string // http://host:port/admin
	visitor string // http://host:port
	client  *http.Client
	log     *logBuffer
	grace   time.Duration // of the shutdown
}

// common is the node that most tests share, each with items and people of its own.
var common shared

type shared struct {
	mu   sync.Mutex
	node *node
	dir  string
}

// end stops the node; 1 where it does not stop as it should.
func (s *shared) end() int {
	if s.node == nil {
		return 0
	}
	err := errors.Join(s.node.stop(), os.RemoveAll(s.dir))
	if err != nil {
		fmt.Fprintln(os.Stderr, "the shared node:", err)
		return 1
	}
	return 0
}

// sharedRig gives the node that most tests share.
func sharedRig(t *testing.T) *rig {
	t.Helper()
	common.mu.Lock()
	defer common.mu.Unlock()
	if common.node == nil {
		dir, err := os.MkdirTemp("", "sluice-console")
		if err != nil {
			t.Fatal(err)
		}
		n, err := startNode(filepath.Join(dir, "data"), func(c *config.Serve) {
			c.WebhookNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
			c.AdminURL = &url.URL{Scheme: "http", Host: "localhost:8081"}
			c.OIDC = config.OIDC{Issuer: "http://127.0.0.1:1", ClientID: "sluice", Scopes: []string{"openid"}, RoleClaim: "groups", Roles: []string{"ops=operator"}}
		})
		if err != nil {
			t.Fatal(err)
		}
		common.node, common.dir = n, dir
	}
	r := &rig{t, common.node}
	from := r.log.Len()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of the node meanwhile:\n%s", r.log.String()[from:])
		}
	})
	return r
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

func (l *logBuffer) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Len()
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newRig starts a node of the test's own.
func newRig(t *testing.T) *rig {
	t.Helper()
	n, err := startNode(filepath.Join(t.TempDir(), "data"), func(*config.Serve) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
		if t.Failed() {
			t.Logf("log of the node:\n%s", n.log)
		}
	})
	return &rig{t, n}
}

func startNode(dir string, with func(*config.Serve)) (*node, error) {
	public, err := url.Parse("https://wait.shop.example")
	if err != nil {
		return nil, err
	}
	cfg := config.Serve{
		Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0", OpsListen: "127.0.0.1:0", PublicURL: public, RedisPrefix: "sluice:",
		DataDir: dir, SecretKey: config.Keys{bytes.Repeat([]byte{7}, 32)},
		Roles: config.Roles{Gate: true, Scheduler: true, Admin: true}, BootstrapAdminToken: adminToken,
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		MoverTick:      250 * time.Millisecond, MaxStreams: 100, NodeID: "node", ShutdownTimeout: 15 * time.Second, AutoMigrate: true,
	}
	with(&cfg)
	n := &node{log: new(logBuffer), client: &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 256}}, grace: cfg.ShutdownTimeout}
	n.app, err = app.New(context.Background(), app.Options{Config: cfg, Log: slog.New(slog.NewTextHandler(n.log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err != nil {
		return nil, err
	}
	if err := n.app.Start(context.Background()); err != nil {
		return nil, err
	}
	at := n.app.Addresses()
	n.console, n.visitor = "http://"+at.Admin+"/admin", "http://"+at.Visitor
	return n, nil
}

func (n *node) stop() error {
	n.client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), n.grace)
	defer cancel()
	return n.app.Stop(ctx)
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

// as opens a page as somebody of a name and a role, without the login.
func (r *rig) as(name, role string, o browsertest.Options) *browsertest.Page {
	r.t.Helper()
	made := r.api(http.MethodPost, "/tokens", map[string]any{"name": name, "role": role})
	token, ok := made["token"].(string)
	if !ok {
		r.t.Fatalf("no token in %v", made)
	}
	return r.open(token, o)
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

// sale plans a sale of an item, that opens after a time and lasts an hour, and gives its id.
func (r *rig) sale(item string, after time.Duration, fields map[string]any) string {
	r.t.Helper()
	opens := time.Now().Add(after)
	body := map[string]any{"name": "Sale of " + item, "item": item, "time_zone": "UTC", "opens_at": opens.UTC().Format(time.RFC3339), "closes_at": opens.Add(time.Hour).UTC().Format(time.RFC3339)}
	maps.Copy(body, fields)
	id, _ := r.api(http.MethodPost, "/sales", body)["id"].(string)
	return id
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
