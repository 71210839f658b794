package app_test

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
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/app"
	"github.com/sluicehq/sluice/internal/childproc"
	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/internal/config"
	"github.com/sluicehq/sluice/internal/postgrestest"
	"github.com/sluicehq/sluice/internal/redistest"
	"github.com/sluicehq/sluice/internal/telemetry"
)

func TestMain(m *testing.M) { redistest.Main(postgrestest.Ending{M: m}) }

// adminToken is the bootstrap token of the nodes in tests.
const adminToken = "an-admin-token-for-tests-of-the-app"

// secret is the key that the nodes of a rig share.
var secret = config.Keys{bytes.Repeat([]byte{7}, 32)}

// rig is some nodes over one store.
type rig struct {
	t       *testing.T
	redis   *redistest.Server // nil = in process
	prefix  string
	dir     string
	nodes   []*node
	client  *http.Client
	sql     string               // address of the settings' database; "" = SQLite for each node with the role
	via     string               // host:port by which nodes that start now reach the store; "" = at its socket
	store   string               // --redis-url of nodes that start now, where redis is not what they use; "" = it is
	roles   map[int]config.Roles // of a node, where others than usual
	streams int                  // a node bears
	exports []*telemetry.Export  // of each node; nil = none
}

// node is one running node.
type node struct {
	*app.App
	cfg  config.Serve
	log  *logBuffer
	stop func()
	away *app.Addresses // of a node in another process; nil = in this one

	child *childproc.Child // that process
}

// Addresses tells where the node listens.
func (n *node) Addresses() app.Addresses {
	if n.away != nil {
		return *n.away
	}
	return n.App.Addresses()
}

// logBuffer keeps what a node logs.
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

// newRig starts n nodes on a Redis of their own; the first has the admin role.
func newRig(t *testing.T, n int) *rig {
	t.Helper()
	return newRigOf(t, n, 100)
}

// newRigOf is newRig of nodes that bear so many event streams.
func newRigOf(t *testing.T, n, streams int) *rig {
	t.Helper()
	r := &rig{t: t, redis: redistest.New(t), prefix: "sluice:", dir: t.TempDir(), streams: streams}
	r.client = &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 256},
		Timeout:       10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for i := range n {
		r.start(i, nil)
	}
	return r
}

// config is that of the i-th node.
func (r *rig) config(i int) config.Serve {
	public, err := url.Parse("http://shop.test")
	if err != nil {
		r.t.Fatal(err)
	}
	c := config.Serve{
		Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0", OpsListen: "127.0.0.1:0", PublicURL: public,
		RedisPrefix: r.prefix, DataDir: filepath.Join(r.dir, fmt.Sprint(i)), SecretKey: secret,
		Roles: config.Roles{Gate: true, Scheduler: true, Admin: i == 0}, BootstrapAdminToken: adminToken,
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, WebhookNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		MoverTick: 250 * time.Millisecond, MaxStreams: r.streams, NodeID: fmt.Sprintf("node-%d", i),
		ShutdownTimeout: 15 * time.Second, AutoMigrate: true, DatabaseURL: config.Secret(r.sql),
	}
	if roles, ok := r.roles[i]; ok {
		c.Roles = roles
	}
	if r.redis != nil {
		c.RedisURL = config.Secret(r.redis.URL())
	}
	if r.via != "" {
		c.RedisURL = config.Secret("redis://" + r.via)
	}
	if r.store != "" {
		c.RedisURL = config.Secret(r.store)
	}
	return c
}

// start starts the i-th node, with another clock where one is given, and waits until it is ready.
func (r *rig) start(i int, c clock.Clock) *node {
	r.t.Helper()
	n := r.launch(i, c)
	r.ready(n)
	return n
}

// ready waits until a node is ready and has met the store.
func (r *rig) ready(n *node) {
	r.t.Helper()
	r.eventually(5*time.Second, "node is ready", func() bool {
		resp, err := r.client.Get("http://" + n.Addresses().Ops + "/readyz")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode == http.StatusOK && bytes.Contains(body, []byte(`"store":"up"`))
	})
}

// startUnready starts the i-th node while its store may be away.
func (r *rig) startUnready(i int) *node {
	r.t.Helper()
	return r.launch(i, nil)
}

func (r *rig) launch(i int, c clock.Clock) *node {
	r.t.Helper()
	n := &node{cfg: r.config(i), log: &logBuffer{}}
	ctx := context.Background()
	o := app.Options{Config: n.cfg, Clock: c, Log: slog.New(slog.NewJSONHandler(n.log, nil))}
	if i < len(r.exports) {
		o.Export = r.exports[i]
	}
	a, err := app.New(ctx, o)
	if err != nil {
		r.t.Fatalf("node %d: %v", i, err)
	}
	if err := a.Start(ctx); err != nil {
		r.t.Fatalf("node %d: %v", i, err)
	}
	n.App = a
	n.stop = sync.OnceFunc(func() {
		// A connection that was opened and never used would keep the server waiting for five seconds.
		r.client.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(ctx, n.cfg.ShutdownTimeout)
		defer cancel()
		if err := a.Stop(ctx); err != nil {
			r.t.Errorf("stop node %d: %v", i, err)
		}
		if r.t.Failed() && os.Getenv("SLUICE_TEST_LOG") != "" {
			r.t.Logf("log of node %d:\n%s", i, n.log)
		}
	})
	r.t.Cleanup(n.stop)
	for len(r.nodes) <= i {
		r.nodes = append(r.nodes, nil)
	}
	r.nodes[i] = n
	return n
}

// eventually waits for something to become true.
func (r *rig) eventually(most time.Duration, what string, is func() bool) {
	r.t.Helper()
	deadline := time.Now().Add(most)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		if time.Now().After(deadline) {
			r.t.Fatalf("not within %v: %s", most, what)
		}
		<-tick.C
	}
}

// until lets time pass on the real clock; for spans that are themselves under test.
func until(d time.Duration) { <-time.After(d) }

// admin calls the admin API of the first node and gives status and body.
func (r *rig) admin(method, path string, body any) (int, map[string]any) {
	r.t.Helper()
	return r.adminAt(0, method, path, body)
}

// adminAt is admin at the i-th node.
func (r *rig) adminAt(i int, method, path string, body any) (int, map[string]any) {
	r.t.Helper()
	var reader io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			r.t.Fatal(err)
		}
		reader = bytes.NewReader(b)
	}
	req, err := http.NewRequest(method, "http://"+r.nodes[i].Addresses().Admin+"/admin/api/v1"+path, reader)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	var out map[string]any
	b, _ := io.ReadAll(resp.Body)
	_ = json.Unmarshal(b, &out)
	return resp.StatusCode, out
}

// must is admin for calls that have to succeed.
func (r *rig) must(method, path string, body any) map[string]any {
	r.t.Helper()
	status, out := r.admin(method, path, body)
	if status >= 300 {
		r.t.Fatalf("%s %s: %d %v", method, path, status, out)
	}
	return out
}

// policy sets fields of an item's policy and waits until all nodes have it.
func (r *rig) policy(item string, fields map[string]any) {
	r.t.Helper()
	r.must("PATCH", "/policies/"+item, fields)
	until(100 * time.Millisecond) // a node that has not heard yet does within a second; most have by now
}

// activate turns an item's queue on by hand, and waits until every node has heard of it. It makes no place.
func (r *rig) activate(item string) {
	r.t.Helper()
	r.must("POST", "/items/"+item+"/activate", nil)
	for i, n := range r.nodes {
		if n == nil || n.Addresses().Visitor == "" {
			continue // not started, or no gate
		}
		r.eventually(time.Second, "the queue is on at every node", func() bool { return r.visitor().status(i, item).Reason != "queue_off" })
	}
}

// answer is a visitor's answer.
type answer struct {
	Status  int `json:"-"`
	Action  string
	Reason  string
	Visitor string
	Queue   struct {
		State      string
		Generation int64
		Waiting    int64
	}
	Place *struct {
		Ticket     string
		Position   *int64
		Exact      bool
		JoinedAt   time.Time `json:"joined_at"`
		EtaSeconds *float64  `json:"eta_seconds"`
		PollMS     int64     `json:"poll_after_ms"`
	}
	Pass *struct {
		Token     string
		ExpiresAt time.Time `json:"expires_at"`
	}
	RetryAfterMS *int64 `json:"retry_after_ms"`
	Code         string
	header       http.Header
}

// visitor is a client that identifies itself by headers.
type visitor struct {
	r                     *rig
	token, ticket, passes string
}

func (r *rig) visitor() *visitor { return &visitor{r: r} }

// call asks the i-th node, and keeps what the answer says to send next time.
func (v *visitor) call(i int, method, path string) (answer, error) {
	req, err := http.NewRequest(method, "http://"+v.r.nodes[i].Addresses().Visitor+path, nil)
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Accept", "application/json")
	// An empty token is one that does not verify: it says that this client keeps no cookies.
	req.Header.Set("Sluice-Visitor", v.token)
	if v.ticket != "" {
		req.Header.Set("Sluice-Ticket", v.ticket)
	}
	if v.passes != "" {
		req.Header.Set("Sluice-Pass", v.passes)
	}
	resp, err := v.r.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{Status: resp.StatusCode, header: resp.Header}
	if len(b) > 0 {
		if err := json.Unmarshal(b, &a); err != nil {
			return a, fmt.Errorf("%s: %w: %s", path, err, b)
		}
	}
	if a.Visitor != "" {
		v.token = a.Visitor
	}
	if a.Place != nil && a.Place.Ticket != "" {
		v.ticket = a.Place.Ticket
	}
	if a.Pass != nil {
		v.passes = a.Pass.Token
	}
	return a, nil
}

func (v *visitor) must(i int, method, path string) answer {
	v.r.t.Helper()
	a, err := v.call(i, method, path)
	if err != nil {
		v.r.t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

func (v *visitor) check(i int, item string) answer {
	v.r.t.Helper()
	return v.must(i, "GET", "/v1/items/"+item+"/check")
}

func (v *visitor) status(i int, item string) answer {
	v.r.t.Helper()
	return v.must(i, "GET", "/v1/items/"+item+"/status")
}

// position is the shown one, 0 where none is.
func (a answer) position() int64 {
	if a.Place == nil || a.Place.Position == nil {
		return 0
	}
	return *a.Place.Position
}

// same runs f n times at once and waits for all.
func together(n int, f func(i int)) {
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { f(i) })
	}
	wait.Wait()
}

// read gives an answer's body.
func read(resp *http.Response) string {
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return string(b)
}
