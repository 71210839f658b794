package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluicehq/sluice/internal/load"
	"github.com/sluicehq/sluice/internal/visitor"
	"github.com/sluicehq/sluice/queue"
)

// positions compares what far polls are shown with the true ranks, while 1,000 a second join, one in ten leaves, and
// people go in. A shown position is an estimate of at most a second's age: it has to lie within 1 % of the ranks that
// the visitor had in that second.
func positions(ctx context.Context, e *env) error {
	const item = "ranks"
	people := pick(e.Short, 100_000, 5_000)
	joins := pick(e.Short, 1_000.0, 200.0)
	span := pick(e.Short, 30*time.Second, 4*time.Second)
	const samples = 50 // in a second

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
	straight := storeLine(store, nil)
	type person struct {
		v               queue.Visitor
		score, position int64
		request         []byte
	}
	crowd := make([]*person, 0, people)
	h, err := seed(ctx, straight, item, people, func(_ int, v queue.Visitor, a queue.Answer) {
		crowd = append(crowd, &person{v: v, score: a.Score, position: a.Position})
	})
	if err != nil {
		return err
	}
	if err := f.Act(ctx, item, "inflow", map[string]any{"inflow_per_second": 50}); err != nil {
		return err
	}
	rand.Shuffle(len(crowd), func(i, j int) { crowd[i], crowd[j] = crowd[j], crowd[i] })
	leavers, stayers := crowd[:people/10], crowd[people/10:]
	host := f.Nodes[0].Host()

	running, stop := context.WithTimeout(ctx, span+10*time.Second)
	defer stop()
	g, running := errgroup.WithContext(running)
	begin := time.Now()
	g.Go(func() error {
		request := load.Request(http.MethodGet, host, "/v1/items/"+item+"/check")
		r, err := load.Run(running, load.Plan{Addrs: []string{host}, Conns: 16, For: span, Rate: joins, Next: func(int) []byte { return request }})
		if err == nil && r.Errors > 0 {
			err = fmt.Errorf("%d joins failed: %w", r.Errors, r.First)
		}
		return err
	})
	g.Go(func() error {
		for i, p := range leavers {
			if err := pause(running, begin.Add(span*time.Duration(i)/time.Duration(len(leavers)))); err != nil {
				return err
			}
			if _, err := straight.End(running, queue.Item(item), queue.Ending{Kind: queue.Leave, Visitor: p.v}); err != nil {
				return err
			}
		}
		return nil
	})
	var errors []float64 // of the shown positions, shares
	var exact, grew, asked int
	g.Go(func() error {
		conn, err := load.Dial(running, host, begin.Add(span+10*time.Second))
		if err != nil {
			return err
		}
		defer conn.Close()
		rank := func(v queue.Visitor) int64 {
			r, err := store.ZRank(running, "sluice:{"+item+"}:waiting", string(v)).Result()
			if err != nil {
				return 0 // let in meanwhile
			}
			return r + 1
		}
		for second := 0; time.Since(begin) < span; second++ {
			chosen := make([]*person, samples)
			before := make([]int64, samples)
			for i := range chosen {
				// The same people come again, as pollers do: what they are shown must not grow.
				chosen[i] = stayers[(second%3*samples+i)%len(stayers)]
				before[i] = rank(chosen[i].v)
			}
			if err := pause(running, time.Now().Add(time.Second)); err != nil {
				return err
			}
			for i, p := range chosen {
				if before[i] <= 300 {
					continue // not far
				}
				if p.request == nil {
					p.request = sign.status(host, item, p.v, h, p.score, p.position)
				}
				r, err := conn.Do(p.request)
				if err != nil {
					return err
				}
				after := rank(p.v)
				var a visitor.Answer
				if err := json.Unmarshal(r.Body, &a); err != nil || a.Place == nil || a.Place.Position == nil {
					return fmt.Errorf("no position: %d: %.300s", r.Status, r.Body)
				}
				shown := *a.Place.Position
				p.request = load.Request(http.MethodGet, host, "/v1/items/"+item+"/status", "Sluice-Visitor", a.Token, "Sluice-Ticket", a.Place.Ticket)
				if asked++; shown > p.position {
					grew++
				}
				p.position = shown
				errors = append(errors, offBy(shown, after, before[i]))
				if shown >= after && shown <= before[i] {
					exact++
				}
			}
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return err
	}
	e.say("%d positions compared", len(errors))
	slices.Sort(errors)
	r := &e.report
	r.note("positions compared", float64(len(errors)), "polls")
	r.note("right at some instant of the last second", float64(exact)/float64(max(1, asked))*100, "%")
	if n := len(errors); n > 0 {
		r.note("error, median", errors[n/2]*100, "%")
		r.note("error, p99", errors[n*99/100]*100, "%")
		r.limit(e.Short, "error, most", errors[n-1]*100, 1, "%")
	}
	r.atMost("positions that grew", float64(grew), 0, "polls")
	return nil
}

// offBy is how far a shown position lies outside the true ranks from low to high, as a share of the nearer one.
func offBy(shown, low, high int64) float64 {
	switch {
	case low > 0 && shown < low:
		return float64(low-shown) / float64(low)
	case shown > high:
		return float64(shown-high) / float64(high)
	}
	return 0
}
