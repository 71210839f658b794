package chaos_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/sluicehq/sluice/internal/fleet"
	"github.com/sluicehq/sluice/internal/visitor"
)

// The items of a case, by the policy of each.
const (
	lined  = "lined"  // on, lets people in at a rate; closed while the store is away
	shut   = "shut"   // on, lets nobody in; closed while the store is away
	opens  = "opens"  // on, lets nobody in; open while the store is away
	unseen = "unseen" // off
)

// phase is how much of a fault is known: answers are timed apart in each.
type phase int32

const (
	calm    phase = iota
	struck        // and no node says so yet
	known         // to all nodes
	mended        // or over by itself
	phases  = 4
	patient = 2 * time.Second // how late an estimate and a poll together may show an admission
)

// seen is what visitors of one kind were answered.
type seen struct {
	Asked   int64
	Answers map[string]int64 // by action/reason
	Wrong   map[string]int64 // those that such a visitor must never get
	Fives   int64            // status 500 and up
	Broken  int64            // no node answered at all
	First   string           // what the first of these was
}

// person is one who stands in the crowd's line, and goes in.
type person struct {
	v        *visitor.Visitor
	id       string    // as the store knows those who were let in
	joined   time.Time // as first told
	shown    int64     // position
	lastWait time.Time // when the last question was sent whose answer was "wait", of a queue that is on
	admitted time.Time // zero = waits still
	later    bool      // was told of a later place than before
	grew     int64     // most by which the position grew
}

// crowd are the visitors of a case.
type crowd struct {
	nodes  []*fleet.Node
	http   *http.Client
	turn   atomic.Int64
	out    sync.Map // *fleet.Node that is not ready -> true
	phase  atomic.Int32
	checks int      // of newcomers per second, at the three items that let nobody in; 0 = 75
	unseen []string // what is right at an item without a queue

	mu     sync.Mutex
	seen   map[string]*seen // by kind
	took   [phases]*hdrhistogram.Histogram
	people []*person
	wg     sync.WaitGroup
}

func newCrowd(nodes []*fleet.Node) *crowd {
	c := &crowd{nodes: nodes, unseen: []string{"pass/queue_off"}, seen: map[string]*seen{}, http: &http.Client{
		Timeout: 2 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 2000, IdleConnTimeout: time.Minute},
	}}
	for i := range c.took {
		c.took[i] = hdrhistogram.New(1, 60_000_000, 3)
	}
	return c
}

// ask asks the next node, and where that one is gone the one after it, as a load balancer does, and notes the answer. Fits
// says whether such a visitor may get it.
func (c *crowd) ask(ctx context.Context, kind string, how func(context.Context, string) (visitor.Answer, error), fits func(visitor.Answer) bool) (visitor.Answer, time.Time, error) {
	var a visitor.Answer
	var err error
	var sent time.Time
	when := c.phase.Load()
	turn := c.turn.Add(1)
	for i := range c.nodes {
		n := c.nodes[(turn+int64(i))%int64(len(c.nodes))]
		if out, _ := c.out.Load(n); out == true && i < len(c.nodes)-1 {
			continue
		}
		sent = time.Now()
		if a, err = how(ctx, n.URL); err == nil || ctx.Err() != nil || !gone(err) {
			break
		}
	}
	if ctx.Err() != nil {
		return a, sent, ctx.Err()
	}
	took := time.Since(sent)
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.seen[kind]
	if s == nil {
		s = &seen{Answers: map[string]int64{}, Wrong: map[string]int64{}}
		c.seen[kind] = s
	}
	s.Asked++
	_ = c.took[when].RecordValue(max(1, took.Microseconds()))
	var refused *visitor.StatusError
	switch what := a.Action + "/" + a.Reason; {
	case errors.As(err, &refused):
		s.Fives++ // nobody here asks for what is worth a 4xx
	case err != nil:
		s.Broken++
	default:
		s.Answers[what]++
		if !fits(a) {
			s.Wrong[what]++
		}
	}
	if err != nil && s.First == "" {
		s.First = err.Error()
	}
	return a, sent, err
}

// gone reports whether a node did not take the request, died over it, or did not answer in time: a load balancer asks another.
func gone(err error) bool {
	var refused *visitor.StatusError
	return !errors.As(err, &refused)
}

func is(a visitor.Answer, answers ...string) bool {
	return slices.Contains(answers, a.Action+"/"+a.Reason)
}

// join makes one more person line up while the line does not move.
func (c *crowd) join(ctx context.Context) error {
	p, err := c.arrive(ctx)
	if err != nil {
		return err
	}
	if p == nil {
		return errors.New("a newcomer has no place")
	}
	c.mu.Lock()
	c.people = append(c.people, p)
	c.mu.Unlock()
	return nil
}

// arrive makes somebody line up; nil where there was no need to, or no store to do it.
func (c *crowd) arrive(ctx context.Context) (*person, error) {
	p := &person{v: &visitor.Visitor{Client: c.http, Item: lined}}
	a, sent, err := c.ask(ctx, "joins", p.v.Check, func(a visitor.Answer) bool {
		return is(a, "wait/paused", "wait/queue_on", "wait/store_down", "pass/admitted")
	})
	if err != nil || a.Place == nil || a.Place.Position == nil {
		return nil, err
	}
	p.joined, p.shown, p.lastWait = a.Place.JoinedAt, *a.Place.Position, sent
	return p, nil
}

// balance takes nodes that are not ready out of the turn, as a load balancer's health checks do, until ctx ends.
func (c *crowd) balance(ctx context.Context) {
	for _, n := range c.nodes {
		c.wg.Go(func() {
			for sleep(ctx, 100*time.Millisecond) {
				c.out.Store(n, !c.ready(ctx, n))
			}
		})
	}
}

func (c *crowd) ready(ctx context.Context, n *fleet.Node) bool {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.URL+"/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// play lets everybody act until ctx ends, and returns when all have stopped.
func (c *crowd) play(ctx context.Context) {
	c.balance(ctx)
	for i, p := range c.people {
		c.wg.Go(func() {
			if sleep(ctx, time.Duration(i)*time.Second/time.Duration(len(c.people))) {
				c.wait(ctx, p)
			}
		})
	}
	for _, k := range []struct {
		item    string
		answers []string
	}{
		{unseen, c.unseen},
		{shut, []string{"wait/queue_on", "wait/store_down"}},
		{opens, []string{"wait/queue_on", "pass/store_down"}},
	} {
		c.wg.Go(func() {
			const every = 40 * time.Millisecond
			for sleep(ctx, every) {
				for range max(1, int(float64(c.checks)/3*every.Seconds())) {
					c.wg.Go(func() {
						v := &visitor.Visitor{Client: c.http, Item: k.item}
						_, _, _ = c.ask(ctx, k.item, v.Check, func(a visitor.Answer) bool { return is(a, k.answers...) })
					})
				}
			}
		})
	}
	c.wg.Wait()
}

// wait polls as told until let in, and then comes back with the pass again and again.
func (c *crowd) wait(ctx context.Context, p *person) {
	after := time.Second
	for sleep(ctx, after) {
		a, sent, err := c.ask(ctx, "waiting", p.v.Status, func(a visitor.Answer) bool {
			return is(a, "wait/queue_on", "wait/store_down", "pass/admitted")
		})
		after = time.Second
		switch {
		case err != nil:
		case a.Action == "pass":
			c.mu.Lock()
			p.admitted = time.Now()
			if a.Pass != nil {
				p.id = subject(a.Pass.Token)
			}
			c.mu.Unlock()
			c.shop(ctx, p)
			return
		case a.Place != nil:
			c.mu.Lock()
			after = time.Duration(a.Place.PollAfterMS) * time.Millisecond
			if a.Reason == "queue_on" {
				p.lastWait = sent
			}
			p.later = p.later || a.Place.JoinedAt.After(p.joined)
			if a.Place.Position != nil {
				p.grew, p.shown = max(p.grew, *a.Place.Position-p.shown), *a.Place.Position
			}
			c.mu.Unlock()
		}
	}
}

// shop comes back with a pass.
func (c *crowd) shop(ctx context.Context, p *person) {
	for sleep(ctx, 3*time.Second) {
		_, _, _ = c.ask(ctx, "inside", p.v.Check, func(a visitor.Answer) bool { return is(a, "pass/pass_valid", "pass/admitted") })
	}
}

// inside counts those who were let in.
func (c *crowd) inside() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.people {
		if !p.admitted.IsZero() {
			n++
		}
	}
	return n
}

// subject is the visitor that a pass was made for.
func subject(pass string) string {
	parts := strings.Split(pass, ".")
	if len(parts) != 3 {
		return ""
	}
	var claims struct {
		Sub string `json:"sub"`
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(body, &claims) != nil {
		return ""
	}
	return claims.Sub
}

// overtaken counts those who were told to wait although somebody who came after them had been let in, since an instant, for longer
// than an estimate and a poll may hide it, and those who stand behind where they stood.
func (c *crowd) overtaken(since time.Time) (overtaken, later int, grew int64) {
	people := slices.Clone(c.people)
	slices.SortFunc(people, func(a, b *person) int { return b.joined.Compare(a.joined) })
	var first time.Time // that somebody who came later was let in
	for _, p := range people {
		if !first.IsZero() && first.Add(patient).Before(p.lastWait) {
			overtaken++
		}
		if p.admitted.After(since) && (first.IsZero() || p.admitted.Before(first)) {
			first = p.admitted
		}
		if p.later {
			later++
		}
		grew = max(grew, p.grew)
	}
	return overtaken, later, grew
}

// sleep waits, and reports whether ctx has not ended meanwhile.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
