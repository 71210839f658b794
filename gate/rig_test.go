package gate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/detector"
	"github.com/sluicehq/sluice/detector/memtraffic"
	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/internal/itempattern"
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/internal/ticket"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/batch"
	"github.com/sluicehq/sluice/queue/heal"
	"github.com/sluicehq/sluice/queue/memline"
)

// store is all of a line, with a switch to put it to sleep.
type store struct {
	*memline.Line
	down  atomic.Bool
	calls atomic.Int64 // of Ask, asks counted
	looks atomic.Int64 // of Positions
	heads atomic.Int64 // of Head
}

func (s *store) err() error {
	if s.down.Load() {
		return queue.ErrStoreDown
	}
	return nil
}

func (s *store) Ask(ctx context.Context, item queue.Item, asks []queue.Ask) (queue.Answers, error) {
	if err := s.err(); err != nil {
		return queue.Answers{}, err
	}
	s.calls.Add(int64(len(asks)))
	return s.Line.Ask(ctx, item, asks)
}

func (s *store) Touch(ctx context.Context, item queue.Item, beats []queue.Beat) (queue.TouchReport, error) {
	if err := s.err(); err != nil {
		return queue.TouchReport{}, err
	}
	return s.Line.Touch(ctx, item, beats)
}

func (s *store) End(ctx context.Context, item queue.Item, e queue.Ending) (queue.EndReport, error) {
	if err := s.err(); err != nil {
		return queue.EndReport{}, err
	}
	return s.Line.End(ctx, item, e)
}

func (s *store) Positions(ctx context.Context, item queue.Item) (queue.Table, error) {
	if err := s.err(); err != nil {
		return queue.Table{}, err
	}
	s.looks.Add(1)
	return s.Line.Positions(ctx, item)
}

func (s *store) Head(ctx context.Context, item queue.Item, most int) (queue.Head, error) {
	if err := s.err(); err != nil {
		return queue.Head{}, err
	}
	s.heads.Add(1)
	return s.Line.Head(ctx, item, most)
}

func (s *store) Switch(ctx context.Context, item queue.Item, o queue.SwitchOrder) (queue.SwitchReport, error) {
	if err := s.err(); err != nil {
		return queue.SwitchReport{}, err
	}
	return s.Line.Switch(ctx, item, o)
}

// rig is some nodes on one store, on a clock in hand.
type rig struct {
	t        testing.TB
	hand     *clock.Hand
	store    *store
	traffic  *memtraffic.Traffic
	settings *settings.Holder
	version  int64
	data     settings.Data
	nodes    []*node
	log      *syncBuffer
	level    slog.Level
}

type node struct {
	*Gate
	board    *queue.Board
	beats    *batch.Beats
	flusher  *detector.Flusher
	heal     *heal.Line
	verdicts *tally
}

// tally is a Recorder that counts.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
	shed   int
}

func (c *tally) Check(_ queue.Item, a Action, r Reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[string(a)+"/"+string(r)]++
}

func (c *tally) Told(_, _ time.Duration) {}

func (c *tally) Shed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shed++
}

func (c *tally) of(verdict string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[verdict]
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// patience is how long the store may take in real time: the clock in hand stands still meanwhile, and tests share a slow
// machine.
const patience = time.Minute

var start = time.Date(2026, 12, 1, 11, 0, 0, 0, time.UTC)

const serviceToken = "service-token-of-the-shop"

// newRig makes n nodes. policy changes the default policy of all items; options those of all gates.
func newRig(t testing.TB, n int, policy func(*queue.Policy), options ...func(*Options)) *rig {
	t.Helper()
	r := &rig{t: t, hand: clock.At(start), settings: &settings.Holder{}, log: &syncBuffer{}}
	r.data = settings.Data{
		Owner: "test", Switch: settings.Normal, Policies: map[queue.Pattern]queue.Policy{},
		ServiceTokens: map[settings.Hash]settings.ServiceToken{settings.HashToken(serviceToken): {Name: "shop"}},
	}
	r.store = &store{}
	r.store.Line = memline.New(memline.Options{Clock: r.hand, Traffic: func(item queue.Item, ms int64) (float64, float64, float64) {
		return r.traffic.Measures(item, ms)
	}})
	r.traffic = memtraffic.New(memtraffic.Options{Line: r.store.Line, Clock: r.hand})
	r.policy("*", policy)
	secrets, err := ticket.ParseSecret("c2x1aWNlIHRlc3Qgc2VjcmV0IGtleSAwMTIzNDU2Nzg5YWJjZGVm")
	if err != nil {
		t.Fatal(err)
	}
	keys := ticket.New(secrets)
	patterns, err := itempattern.ParseAll([]string{"/product/{item}"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		nd := &node{board: &queue.Board{}, verdicts: &tally{counts: map[string]int{}}}
		nd.heal = heal.New(heal.Options{
			Line: r.store, Board: nd.board, Clock: r.hand, Limits: r.limits,
			Lost: func(context.Context) (bool, error) { return true, nil },
		})
		nd.beats = batch.NewBeats(r.store)
		nd.beats.Seen = func(h queue.Header) { nd.board.Put(h) }
		c := detector.NewCounter()
		nd.flusher = detector.NewFlusher(detector.FlusherOptions{
			Counter: c, Traffic: r.traffic, Limits: r.limits, Node: fmt.Sprint("node-", i), Clock: r.hand,
			Seen: func(h queue.Header) { nd.board.Put(h) },
		})
		o := Options{
			Line: r.store, Asks: batch.NewAsks(nd.heal, patience), Beats: nd.beats, Board: nd.board, Settings: r.settings,
			Counter: c, Trips: nd.flusher, Keys: keys, Clock: &clock.Store{Base: r.hand}, Patterns: patterns,
			PublicURL: "https://queue.example", Recorder: nd.verdicts, Told: nd.heal.Told,
			StoreUp: func() bool { return !r.store.down.Load() }, StorePatience: patience,
			Log: slog.New(slog.NewJSONHandler(r.log, &slog.HandlerOptions{Level: r.level})),
		}
		for _, f := range options {
			f(&o)
		}
		if nd.Gate, err = New(o); err != nil {
			t.Fatal(err)
		}
		r.nodes = append(r.nodes, nd)
	}
	return r
}

func (r *rig) limits(item queue.Item) queue.Limits {
	s := r.settings.Now()
	_, p := s.For(item)
	l := p.Limits(s.Version())
	l.Hold = s.Switch() == settings.Hold
	return l
}

// policy sets the policy of a pattern, starting from the default.
func (r *rig) policy(pattern queue.Pattern, change func(*queue.Policy)) {
	r.t.Helper()
	p := queue.DefaultPolicy()
	if change != nil {
		change(&p)
	}
	if err := p.Validate(); err != nil {
		r.t.Fatal(err)
	}
	policies := map[queue.Pattern]queue.Policy{}
	for k, v := range r.data.Policies {
		policies[k] = v
	}
	policies[pattern] = p
	r.data.Policies = policies
	r.publish()
}

func (r *rig) all(s settings.Switch) { r.data.Switch = s; r.publish() }

func (r *rig) publish() {
	r.version++
	d := r.data
	d.Version = r.version
	r.settings.Put(settings.New(d))
}

// do switches an item's queue and tells all nodes.
func (r *rig) do(item queue.Item, o queue.SwitchOrder) queue.SwitchReport {
	r.t.Helper()
	o.Limits = r.limits(item)
	if o.Cause == "" {
		o.Cause = queue.ByOperator
	}
	report, err := r.store.Line.Switch(context.Background(), item, o)
	if err != nil {
		r.t.Fatalf("%s %s: %v", o.Action, item, err)
	}
	r.sync()
	return report
}

func (r *rig) activate(item queue.Item) {
	r.t.Helper()
	r.do(item, queue.SwitchOrder{Action: queue.Activate})
}

// sync tells all nodes of all headers, as the store's events do.
func (r *rig) sync() {
	for _, item := range r.store.Items() {
		look, _ := r.store.Look(context.Background(), item)
		for _, n := range r.nodes {
			n.board.Put(look.Header)
		}
	}
}

// pass lets time pass in ticks of 250 ms, long times in ticks of a second: movers step, nodes flush.
func (r *rig) pass(d time.Duration) {
	r.t.Helper()
	ctx := context.Background()
	tick := 250 * time.Millisecond
	if d > 10*time.Second {
		tick = time.Second
	}
	for ; d > 0; d -= tick {
		r.hand.Add(min(d, tick))
		if r.store.down.Load() {
			continue
		}
		for _, n := range r.nodes {
			n.beats.Flush(ctx)
			n.flusher.Flush(ctx)
		}
		for _, item := range r.store.Items() {
			for more := true; more; {
				reports, errs := r.nodes[0].heal.StepMany(ctx, []queue.Item{item}, []queue.StepOrder{{Limits: r.limits(item), Most: 300, TickMS: tick.Milliseconds()}})
				if errs[0] != nil {
					r.t.Fatal(errs[0])
				}
				more = reports[0].More
			}
		}
		r.sync()
	}
}

func (r *rig) counts(item queue.Item) queue.Counts {
	look, _ := r.store.Look(context.Background(), item)
	return look.Counts
}

func (r *rig) header(item queue.Item) queue.Header {
	look, _ := r.store.Look(context.Background(), item)
	return look.Header
}

// requests is the traffic that was counted of an item, on all nodes.
func (r *rig) requests(item queue.Item) int {
	for _, n := range r.nodes {
		n.flusher.Flush(context.Background())
	}
	requests, _, _ := r.traffic.Measures(item, r.hand.Now().UnixMilli())
	return int(requests + 0.5)
}

// client is one visitor's browser, app or server.
type client struct {
	r       *rig
	node    int
	cookies map[string]string // nil: keeps none
	header  http.Header       // sent with each request
	remote  string
}

func (r *rig) browser() *client {
	return &client{r: r, cookies: map[string]string{}, header: http.Header{}, remote: "203.0.113.7:4711"}
}

// app is a client that keeps what the JSON says and no cookies.
func (r *rig) app() *client {
	return &client{r: r, header: http.Header{}, remote: "203.0.113.7:4711"}
}

func (c *client) at(node int) *client { d := *c; d.node = node; return &d }

// with sends further headers: name, value, name, value, …
func (c *client) with(pairs ...string) *client {
	d := *c
	d.header = c.header.Clone()
	for i := 0; i < len(pairs); i += 2 {
		d.header.Set(pairs[i], pairs[i+1])
	}
	return &d
}

// do sends one request and keeps the cookies of the answer.
func (c *client) do(method, target string, body ...string) *httptest.ResponseRecorder {
	c.r.t.Helper()
	req := httptest.NewRequest(method, target, strings.NewReader(strings.Join(body, "")))
	req.RemoteAddr = c.remote
	for k, vs := range c.header {
		req.Header[k] = vs
	}
	var parts []string
	for k, v := range c.cookies {
		parts = append(parts, k+"="+v)
	}
	if len(parts) > 0 {
		req.Header.Set("Cookie", strings.Join(parts, "; "))
	}
	w := httptest.NewRecorder()
	c.r.nodes[c.node].Handler().ServeHTTP(w, req)
	if c.cookies != nil {
		for _, cookie := range w.Result().Cookies() {
			if cookie.MaxAge < 0 || cookie.Value == "" {
				delete(c.cookies, cookie.Name)
			} else {
				c.cookies[cookie.Name] = cookie.Value
			}
		}
	}
	return w
}

// body is the answer of check and status, with the fields of the visitor API.
type body struct {
	Item    string
	Action  string
	Reason  string
	Visitor string
	Queue   struct {
		State      string
		Generation int64
		Waiting    int64
	}
	Place *struct {
		Ticket         *string
		Position       *int64
		Exact          bool
		JoinedAt       *time.Time `json:"joined_at"`
		EtaSeconds     *int64     `json:"eta_seconds"`
		EtaLowSeconds  *int64     `json:"eta_low_seconds"`
		EtaHighSeconds *int64     `json:"eta_high_seconds"`
		OpensAt        *time.Time `json:"opens_at"`
		PollAfterMS    int64      `json:"poll_after_ms"`
		WaitURL        string     `json:"wait_url"`
	}
	Pass *struct {
		Token     string
		ExpiresAt time.Time `json:"expires_at"`
	}
	RetryAfterMS *int64 `json:"retry_after_ms"`

	status int
	raw    string
	code   string
}

func (b *body) verdict() string { return b.Action + "/" + b.Reason }

func (b *body) position() int64 {
	if b.Place == nil || b.Place.Position == nil {
		return 0
	}
	return *b.Place.Position
}

func (b *body) ticket() string {
	if b.Place == nil || b.Place.Ticket == nil {
		return ""
	}
	return *b.Place.Ticket
}

func (b *body) pass() string {
	if b.Pass == nil {
		return ""
	}
	return b.Pass.Token
}

func (c *client) get(target string) *body {
	c.r.t.Helper()
	return parse(c.r.t, c.do(http.MethodGet, target))
}

func (c *client) check(item string) *body {
	c.r.t.Helper()
	return c.get("/v1/items/" + item + "/check")
}
func (c *client) status(item string) *body {
	c.r.t.Helper()
	return c.get("/v1/items/" + item + "/status")
}

func parse(t testing.TB, w *httptest.ResponseRecorder) *body {
	t.Helper()
	if cc := w.Header().Get("Cache-Control"); cc != "no-store" {
		t.Errorf("Cache-Control is %q", cc)
	}
	b := &body{status: w.Code, raw: w.Body.String()}
	if w.Code != http.StatusOK {
		var p struct{ Code string }
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("status %d without a problem: %s", w.Code, w.Body)
		}
		b.code = p.Code
		return b
	}
	dec := json.NewDecoder(strings.NewReader(b.raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(b); err != nil && err != io.EOF {
		t.Errorf("answer %s: %v", b.raw, err)
	}
	return b
}

func (c *client) want(b *body, verdict string) *body {
	c.r.t.Helper()
	if b.verdict() != verdict {
		c.r.t.Fatalf("answer %d %s, want %s: %s", b.status, b.verdict(), verdict, b.raw)
	}
	return b
}

// keep makes the client go on by what an answer said, as headers.
func (c *client) keep(b *body) *client {
	d := c.with("Sluice-Visitor", b.Visitor)
	if t := b.ticket(); t != "" {
		d.header.Set("Sluice-Ticket", t)
	}
	if b.Pass != nil {
		d.header.Set("Sluice-Pass", b.Pass.Token)
	}
	return d
}

func mode(m queue.Mode) func(*queue.Policy) { return func(p *queue.Policy) { p.Mode = m } }

func (s *store) StepMany(ctx context.Context, items []queue.Item, orders []queue.StepOrder) ([]queue.StepReport, []error) {
	reports, errs := make([]queue.StepReport, len(items)), make([]error, len(items))
	for i, item := range items {
		reports[i], errs[i] = s.Line.Step(ctx, item, orders[i])
	}
	return reports, errs
}

// forgetful is a store that has lost everything.
type forgetful struct{}

func (forgetful) Ask(context.Context, queue.Item, queue.Ask) (batch.Reply, error) {
	return batch.Reply{NowMS: start.UnixMilli()}, nil
}
