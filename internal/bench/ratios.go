package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluicehq/sluice/internal/load"
	"github.com/sluicehq/sluice/internal/visitor"
	"github.com/sluicehq/sluice/queue"
)

// The cases that are ratios to a bare gin server. Each node has one item and one store.

// checkOff: a known visitor's check while the queue is off.
func checkOff(ctx context.Context, e *env) error {
	c := contest{want: `"reason":"queue_off"`, least: 0.97, mostCall: 0.01}
	if e.Target != "" {
		return e.target(ctx, c, "bench-off")
	}
	f, err := e.start(ctx, 1)
	defer f.close()
	if err != nil {
		return err
	}
	if err := f.Policy(ctx, "off", map[string]any{"trigger_requests": queue.MaxNumber}); err != nil {
		return err
	}
	requests, err := knownVisitors(pick(e.Short, 10_000, 500), f.Nodes[0].Host(), "off")
	if err != nil {
		return err
	}
	c.host, c.next = f.Nodes[0].Host(), turns(requests, conns)
	return c.run(ctx, e, f)
}

// knownVisitors are the checks of an item by n visitors who have been here before.
func knownVisitors(n int, host, item string) (requests [][]byte, err error) {
	sign, err := newSigner()
	if err != nil {
		return nil, err
	}
	for range n {
		requests = append(requests, load.Request(http.MethodGet, host, "/v1/items/"+item+"/check", "Sluice-Visitor", sign.visitor(queue.NewVisitor())))
	}
	return requests, nil
}

// join: every request is a newcomer who gets a place.
func join(ctx context.Context, e *env) error {
	c := contest{want: `"action":"wait"`, least: 0.6, mostCall: 1}
	if e.Target != "" {
		return e.target(ctx, c, "bench-on")
	}
	f, err := e.start(ctx, 1)
	defer f.close()
	if err != nil {
		return err
	}
	if err := f.open(ctx, "on", still(nil)); err != nil {
		return err
	}
	request := load.Request(http.MethodGet, f.Nodes[0].Host(), "/v1/items/on/check")
	c.host, c.next = f.Nodes[0].Host(), func(int) []byte { return request }
	return c.run(ctx, e, f)
}

// target runs a contest of newcomers' checks against a server that runs already.
func (e *env) target(ctx context.Context, c contest, item string) error {
	c.host = strings.TrimSuffix(strings.TrimPrefix(e.Target, "http://"), "/")
	request := load.Request(http.MethodGet, c.host, "/v1/items/"+item+"/check")
	c.next = func(int) []byte { return request }
	e.say("item %s of %s; the bare server runs on this machine", item, e.Target)
	return c.run(ctx, e, nil)
}

// passes: checks with a valid pass, each of another visitor, who takes the newer pass along when there is one.
func passes(ctx context.Context, e *env) error {
	const item = "inside"
	f, err := e.start(ctx, 1)
	defer f.close()
	if err != nil {
		return err
	}
	if err := f.open(ctx, item, still(map[string]any{"inflow_per_second": 100_000, "session_seconds": 300})); err != nil {
		return err
	}
	host := f.Nodes[0].Host()
	n := pick(e.Short, 160, 8) * conns
	w := &wallets{host: host, item: item, of: make([]wallet, n), at: make([]int, conns)}
	if err := w.fill(ctx); err != nil {
		return err
	}
	e.say("%d people are inside", n)
	c := contest{host: host, next: w.next, got: w.got, want: `"reason":"pass_valid"`, least: 0.9, mostCall: 0.05}
	return c.run(ctx, e, f)
}

// wallets are people inside; connection c speaks for those whose number is c modulo conns.
type wallets struct {
	host, item string
	of         []wallet
	at         []int
}

type wallet struct {
	request []byte
	pass    []byte
}

var passToken = []byte(`"pass":{"token":"`)

// fill lets everybody in: a newcomer at a line that is empty goes in at once.
func (w *wallets) fill(ctx context.Context) error {
	request := load.Request(http.MethodGet, w.host, "/v1/items/"+w.item+"/check")
	per := make([]int, conns)
	var bad error
	bads := make([]error, conns)
	_, err := load.Run(ctx, load.Plan{
		Addrs: []string{w.host}, Conns: conns, For: allTheTime, Patience: allTheTime,
		Next: func(c int) []byte {
			if c+per[c]*conns >= len(w.of) || bads[c] != nil {
				return nil
			}
			return request
		},
		Got: func(c int, r load.Response) {
			if !w.take(&w.of[c+per[c]*conns], r.Body) {
				bads[c] = fmt.Errorf("not let in: %d: %.300s", r.Status, r.Body)
			}
			per[c]++
		},
	})
	for _, b := range bads {
		if b != nil {
			bad = b
		}
	}
	if err == nil {
		err = bad
	}
	return err
}

// take keeps what an answer gives, and reports whether there was a pass in it.
func (w *wallets) take(one *wallet, body []byte) bool {
	var a visitor.Answer
	if err := json.Unmarshal(body, &a); err != nil || a.Pass == nil {
		return false
	}
	one.pass = []byte(a.Pass.Token)
	one.request = load.Request(http.MethodGet, w.host, "/v1/items/"+w.item+"/check", "Sluice-Visitor", a.Token, "Sluice-Pass", a.Pass.Token)
	return true
}

func (w *wallets) next(conn int) []byte {
	w.at[conn]++
	return w.current(conn).request
}

func (w *wallets) current(conn int) *wallet {
	return &w.of[(conn+w.at[conn]*conns)%len(w.of)] // their number is a multiple of conns
}

func (w *wallets) got(conn int, r load.Response) {
	i := bytes.Index(r.Body, passToken)
	if i < 0 {
		return
	}
	// Most answers repeat the pass that was shown.
	if one := w.current(conn); !bytes.HasPrefix(r.Body[i+len(passToken):], one.pass) {
		w.take(one, r.Body)
	}
}

// far: polls from far back in a line of 200,000.
func far(ctx context.Context, e *env) error {
	return polls(ctx, e, 50, func(i, n int) bool { return i >= n/2 && i%pick(e.Short, 5, 20) == 0 },
		contest{least: 0.9, mostCall: 0.1})
}

// near: polls near the head of the same line.
func near(ctx context.Context, e *env) error {
	return polls(ctx, e, 0.1, func(i, _ int) bool { return i >= 50 && i < 200 }, contest{least: 0.75, mostCall: 1})
}

// polls measures status for those of a line whom whom picks by their number.
func polls(ctx context.Context, e *env, inflow float64, whom func(i, n int) bool, c contest) error {
	const item = "line"
	f, err := e.start(ctx, 1)
	defer f.close()
	if err != nil {
		return err
	}
	if err := f.open(ctx, item, still(nil)); err != nil {
		return err
	}
	store := f.redis.Client()
	defer store.Close()
	sign, err := newSigner()
	if err != nil {
		return err
	}
	n := pick(e.Short, 200_000, 5_000)
	type person struct {
		v               queue.Visitor
		score, position int64
	}
	var people []person
	h, err := seed(ctx, storeLine(store, nil), item, n, func(i int, v queue.Visitor, a queue.Answer) {
		if whom(i, n) {
			people = append(people, person{v, a.Score, a.Position})
		}
	})
	if err != nil {
		return err
	}
	if err := f.Act(ctx, item, "inflow", map[string]any{"inflow_per_second": inflow}); err != nil {
		return err
	}
	host := f.Nodes[0].Host()
	var requests [][]byte
	for _, p := range people {
		requests = append(requests, sign.status(host, item, p.v, h, p.score, p.position))
	}
	e.say("%d wait, %d of them poll", n, len(requests))
	c.host, c.next, c.want = host, turns(requests, conns), `"action":"wait"`
	return c.run(ctx, e, f)
}
