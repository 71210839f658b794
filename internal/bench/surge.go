package bench

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/sluicehq/sluice/internal/childproc"
)

// The bounds of a surge: made-up items leave memory and keys flat, and all gates know of an activation in time.
const (
	mostKeys     = 20_000
	mostGrowthMB = 100
	mostTrip     = 250 * time.Millisecond
)

// hotWires is over how many connections a node gets the checks of the hot item: a node answers those of one connection
// one after the other, and a newcomer's place is a call of the store away.
const hotWires = 64

// beside is the pause between two bursts of made-up items while the hot item's surge lasts: 12,000/s in all, so that one
// machine can bear both and the surge is one. After it they come as fast as they are answered.
const beside = 16 * time.Millisecond

// surge sends 20,000 checks a second for one item, and at the same time one check each for 1,000,000 items that do not
// exist, over three nodes.
func surge(ctx context.Context, e *env) error {
	const item = "hot"
	rate := pick(e.Short, 20_000, 1_000) // checks per second of the hot item
	lasts := pick(e.Short, 10*time.Second, 3*time.Second)
	madeUp := int64(pick(e.Short, 1_000_000, 20_000))
	const trigger = 500 // the default

	f, err := e.start(ctx, 3)
	defer f.close()
	if err != nil {
		return err
	}
	store := f.redis.Client()
	defer store.Close()
	if err := e.warm(ctx, f); err != nil {
		return err
	}
	watched := watchMemory(ctx, f, store)

	h := &hot{trigger: trigger, on: make([]time.Time, len(f.Nodes)), generations: map[int64]bool{}}
	var next, flooded atomic.Int64
	begin := time.Now()
	g, gctx := errgroup.WithContext(ctx)
	for i, n := range f.Nodes {
		each := float64(rate) / float64(len(f.Nodes)*hotWires)
		for range hotWires {
			g.Go(func() error {
				return pump(gctx, n.URL, paced(gctx, begin, begin.Add(lasts), item, each), func(v verdict, sent time.Time) {
					h.got(i, v, sent)
				})
			})
		}
		g.Go(func() error { // the made-up ones
			return pump(gctx, n.URL, func() ([]string, bool) {
				if now := time.Now(); now.Before(begin.Add(lasts)) && pause(gctx, now.Add(beside)) != nil {
					return nil, false
				}
				last := next.Add(depth)
				var burst []string
				for id := last - depth; id < min(last, madeUp); id++ {
					burst = append(burst, "made-up-"+strconv.FormatInt(id, 10))
				}
				return burst, len(burst) > 0
			}, func(verdict, time.Time) { flooded.Add(1) })
		})
	}
	e.say("%d checks/s on one item for %v, and %d made-up items", rate, lasts, madeUp)
	if err := g.Wait(); err != nil {
		return err
	}
	took := time.Since(begin)
	e.say("%d checks of the hot item, %d of made-up ones in %.1f s", h.checks, flooded.Load(), took.Seconds())
	keys, grown := watched()
	if err := ctx.Err(); err != nil {
		return err
	}
	rows, err := e.history(ctx, f, item)
	if err != nil {
		return err
	}

	r := &e.report
	r.note("checks of the hot item offered", float64(rate), "per second")
	r.note("checks of the hot item answered", float64(h.checks)/h.last.Sub(begin).Seconds(), "per second")
	r.note("checks in all", float64(h.checks+flooded.Load())/took.Seconds(), "per second")
	r.between("made-up items asked for", float64(flooded.Load()), float64(madeUp), float64(madeUp), "items")
	r.atMost("keys in the store at most", float64(keys), mostKeys, "keys")
	for i, mb := range grown {
		r.atMost("memory of "+f.Nodes[i].Name+" grew by at most", mb, mostGrowthMB, "MB")
	}
	for i, at := range h.on {
		if at.IsZero() {
			return fmt.Errorf("the queue never turned on at %s", f.Nodes[i].Name)
		}
		r.atMost("queue on at "+f.Nodes[i].Name+" after the trip", float64(at.Sub(h.tripped).Microseconds())/1000, float64(mostTrip.Milliseconds()), "ms")
	}
	r.between("generations", float64(len(h.generations)), 1, 1, "")
	r.between("rows in the history", float64(rows), 1, 1, "")
	return nil
}

// hot is what the hot item's visitors saw.
type hot struct {
	trigger int64

	mu          sync.Mutex
	checks      int64
	sent        []time.Time // of the first checks, until the trip
	tripped     time.Time   // when the check was sent that reached the trigger
	on          []time.Time // by node: the first answer with a queue
	generations map[int64]bool
	last        time.Time // when the last answer came
}

func (h *hot) got(node int, v verdict, sent time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checks++
	h.last = time.Now()
	if h.tripped.IsZero() {
		if h.sent = append(h.sent, sent); int64(len(h.sent)) == h.trigger {
			h.tripped = slices.MaxFunc(h.sent, time.Time.Compare)
			h.sent = nil
		}
	}
	if v.on {
		h.generations[v.generation] = true
		if h.on[node].IsZero() {
			h.on[node] = h.last
		}
	}
}

// paced gives bursts of one item's checks, perSecond of them from begin to end. What a slow node held up is not made
// good later: a surge does not wait.
func paced(ctx context.Context, begin, end time.Time, item string, perSecond float64) func() ([]string, bool) {
	const burst = 5 * time.Millisecond
	tick := begin
	carry := 0.0
	return func() ([]string, bool) {
		tick = tick.Add(burst)
		if now := time.Now(); tick.Before(now.Add(-burst)) {
			tick = now
		}
		if pause(ctx, tick) != nil || tick.After(end) {
			return nil, false
		}
		carry += perSecond * burst.Seconds()
		n := int(carry)
		carry -= float64(n)
		return slices.Repeat([]string{item}, n), true
	}
}

// warm lets the nodes allocate what any traffic makes them allocate, so that growth is the surge's alone.
func (e *env) warm(ctx context.Context, f *testbed) error {
	for _, n := range f.Nodes {
		left := 2000
		err := pump(ctx, n.URL, func() ([]string, bool) {
			left -= depth
			return slices.Repeat([]string{"warm-up-" + strconv.Itoa(left%50)}, depth), left >= 0
		}, func(verdict, time.Time) {})
		if err != nil {
			return err
		}
	}
	return nil
}

// watchMemory samples keys and memory until the function that it returns is called, which gives the most of each.
func watchMemory(ctx context.Context, f *testbed, store *redis.Client) func() (keys int64, grownMB []float64) {
	before, most := make([]float64, len(f.Nodes)), make([]float64, len(f.Nodes))
	for i, n := range f.Nodes {
		before[i] = childproc.ResidentMB(n.PID())
	}
	var keys int64
	sample := func() {
		keys = max(keys, store.DBSize(ctx).Val())
		for i, n := range f.Nodes {
			most[i] = max(most[i], childproc.ResidentMB(n.PID())-before[i])
		}
	}
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				sample()
			}
		}
	}()
	return func() (int64, []float64) {
		close(done)
		<-stopped
		sample()
		return keys, most
	}
}

// history counts the activations of the item, once the admin node has written them.
func (e *env) history(ctx context.Context, f *testbed, item string) (rows int, err error) {
	for range 50 {
		if rows, err = f.Activations(ctx, item); err != nil || rows > 0 {
			break
		}
		if err = pause(ctx, time.Now().Add(100*time.Millisecond)); err != nil {
			break
		}
	}
	return rows, err
}
