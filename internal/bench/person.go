package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// answer is the part of a check's answer that a visitor heeds.
type answer struct {
	Action  string `json:"action"`
	Reason  string `json:"reason"`
	Visitor string `json:"visitor"`
	Place   *struct {
		Ticket      string    `json:"ticket"`
		Position    *int64    `json:"position"`
		JoinedAt    time.Time `json:"joined_at"`
		PollAfterMS int64     `json:"poll_after_ms"`
	} `json:"place"`
}

// seen is what one person saw of the line.
type seen struct {
	joined   time.Time // as the line says it
	lastWait time.Time // when the last question was sent whose answer was "wait"
	admitted time.Time // when the admission was read; zero = never
	grew     int64     // the most by which the position shown ever grew
}

// people are visitors who line up at one item and poll, at each node in turn.
type people struct {
	item  string
	nodes []*node
	http  *http.Client
	pace  atomic.Int64 // people per 1,000 s at which the line moves now: how closely the head is watched

	wg     sync.WaitGroup
	turn   atomic.Int64
	letIn  atomic.Int64
	errors atomic.Int64 // answers other than 200 and broken connections, those of killed nodes too
	first  atomic.Value // the first error's text

	storeless atomic.Int64 // answers with reason store_down: nodes that found the store too slow

	mu      sync.Mutex
	records []*seen
	changed chan struct{} // has a value after each admission
}

func newPeople(item string, nodes []*node, most int) *people {
	return &people{item: item, nodes: nodes, changed: make(chan struct{}, 1), http: &http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: most, MaxIdleConns: 0, IdleConnTimeout: time.Minute},
	}}
}

// ask asks the next node, and the one after it where that one does not answer.
func (p *people) ask(ctx context.Context, path, visitor, ticket string) (a answer, sent time.Time, err error) {
	for range p.nodes {
		n := p.nodes[p.turn.Add(1)%int64(len(p.nodes))]
		sent = time.Now()
		if a, err = p.askAt(ctx, n, path, visitor, ticket); err == nil || ctx.Err() != nil {
			return a, sent, err
		}
		p.errors.Add(1)
		p.first.CompareAndSwap(nil, err.Error())
	}
	return a, sent, err
}

func (p *people) askAt(ctx context.Context, n *node, path, visitor, ticket string) (a answer, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.url+"/v1/items/"+p.item+path, nil)
	if err != nil {
		return a, err
	}
	if visitor != "" {
		req.Header.Set("Sluice-Visitor", visitor)
		req.Header.Set("Sluice-Ticket", ticket)
	}
	resp, err := p.http.Do(req)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return a, err
	}
	if resp.StatusCode != http.StatusOK {
		return a, fmt.Errorf("%s: %d: %s", path, resp.StatusCode, body)
	}
	return a, json.Unmarshal(body, &a)
}

// join makes one person line up and then wait in a goroutine of its own, until let in or until ctx ends. Who comes at a
// moment in which the node cannot reach the store in time comes again.
func (p *people) join(ctx context.Context) error {
	for {
		a, sent, err := p.ask(ctx, "/check", "", "")
		if err != nil {
			return err
		}
		if a.Reason == storeDown {
			p.storeless.Add(1)
			continue
		}
		if a.Action != "wait" || a.Place == nil || a.Place.Position == nil {
			return fmt.Errorf("a newcomer got %s/%s, not wait", a.Action, a.Reason)
		}
		s := &seen{joined: a.Place.JoinedAt, lastWait: sent}
		p.mu.Lock()
		p.records = append(p.records, s)
		p.mu.Unlock()
		p.wg.Go(func() { p.wait(ctx, s, a) })
		return nil
	}
}

// storeDown is the reason of an answer that a node gave without the store: it says nothing about the line.
const storeDown = "store_down"

// wait polls until let in.
func (p *people) wait(ctx context.Context, s *seen, a answer) {
	for shown := *a.Place.Position; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(p.until(shown, a.Place.PollAfterMS)):
		}
		next, sent, err := p.ask(ctx, "/status", a.Visitor, a.Place.Ticket)
		switch {
		case err != nil: // counted by ask
		case next.Reason == storeDown:
			p.storeless.Add(1)
		case next.Reason == "admitted":
			p.mu.Lock()
			s.admitted = time.Now()
			p.mu.Unlock()
			p.letIn.Add(1)
			select {
			case p.changed <- struct{}{}:
			default:
			}
			return
		case next.Place != nil && next.Place.Position != nil:
			a.Place = next.Place
			p.mu.Lock()
			s.lastWait = sent
			s.grew = max(s.grew, *a.Place.Position-shown)
			p.mu.Unlock()
			shown = *a.Place.Position
		default:
			p.errors.Add(1)
			p.first.CompareAndSwap(nil, "a waiting visitor got "+next.Action+"/"+next.Reason)
		}
	}
}

// until is how long this visitor waits with the next question: as told, but near the head each 250 ms, so that the
// instant of the admission is seen.
func (p *people) until(position, toldMS int64) time.Duration {
	watch := time.Duration(float64(position) / (4 * float64(p.pace.Load()) / 1000) * float64(time.Second))
	return min(time.Duration(toldMS)*time.Millisecond, max(250*time.Millisecond, watch))
}

// snapshot copies what was seen so far.
func (p *people) snapshot() []seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]seen, len(p.records))
	for i, s := range p.records {
		out[i] = *s
	}
	return out
}
