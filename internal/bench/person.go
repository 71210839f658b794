package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sluicehq/sluice/internal/fleet"
	"github.com/sluicehq/sluice/internal/visitor"
)

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
	nodes []*fleet.Node
	http  *http.Client
	pace  atomic.Int64 // people per 1,000 s at which the line moves now: how closely the head is watched

	wg     sync.WaitGroup
	turn   atomic.Int64
	gone   sync.Map // *fleet.Node that refused a connection: nobody asks it again
	letIn  atomic.Int64
	errors atomic.Int64 // answers other than 200 and broken connections, those of killed nodes too
	first  atomic.Value // the first error's text

	storeless atomic.Int64 // answers with reason store_down: nodes that found the store too slow

	mu      sync.Mutex
	records []*seen
	changed chan struct{} // has a value after each admission
}

func newPeople(item string, nodes []*fleet.Node, most int) *people {
	return &people{item: item, nodes: nodes, changed: make(chan struct{}, 1), http: &http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: most, MaxIdleConns: 0, IdleConnTimeout: time.Minute},
	}}
}

// ask asks the next node, and the one after it where that one does not answer. How is (*visitor.Visitor).Check or Status.
func (p *people) ask(ctx context.Context, how func(context.Context, string) (visitor.Answer, error)) (a visitor.Answer, sent time.Time, err error) {
	for range p.nodes {
		n := p.nodes[p.turn.Add(1)%int64(len(p.nodes))]
		if _, gone := p.gone.Load(n); gone {
			continue
		}
		sent = time.Now()
		if a, err = how(ctx, n.URL); err == nil || ctx.Err() != nil {
			return a, sent, err
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			p.gone.Store(n, true)
		}
		p.failed(err.Error())
	}
	return a, sent, err
}

func (p *people) failed(why string) {
	p.errors.Add(1)
	p.first.CompareAndSwap(nil, why)
}

// join makes one person line up and then wait in a goroutine of its own, until let in or until ctx ends. Who comes at a
// moment in which the node cannot reach the store in time comes again.
func (p *people) join(ctx context.Context) error {
	for {
		v := &visitor.Visitor{Client: p.http, Item: p.item}
		a, sent, err := p.ask(ctx, v.Check)
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
		p.wg.Go(func() { p.wait(ctx, v, s, a.Place) })
		return nil
	}
}

// storeDown is the reason of an answer that a node gave without the store: it says nothing about the line.
const storeDown = "store_down"

// wait polls until let in.
func (p *people) wait(ctx context.Context, v *visitor.Visitor, s *seen, place *visitor.Place) {
	for {
		shown := *place.Position
		select {
		case <-ctx.Done():
			return
		case <-time.After(p.until(shown, place.PollAfterMS)):
		}
		next, sent, err := p.ask(ctx, v.Status)
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
			place = next.Place
			p.mu.Lock()
			s.lastWait = sent
			s.grew = max(s.grew, *place.Position-shown)
			p.mu.Unlock()
		default:
			p.failed("a waiting visitor got " + next.Action + "/" + next.Reason)
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
