package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/sync/errgroup"
)

// watch is how exactly a visitor's polls show the instant of an admission: their pace near the head, and the delay of
// the answers of busy nodes.
const watch = 500 * time.Millisecond

// stale is how old an estimate in an answer may be.
const stale = time.Second

// crowd keeps a line of 3,000 at one item on three nodes (one who is let in is followed by a newcomer), lets 50 in a second
// for a minute, kills the node that moves the line in the middle of it, and then sets the inflow to 200 and to 0.5.
// Everything is measured by what visitors see, and the inflow by the store's books too: those alone in the short form, as how
// soon a thousand visitors of one process see something is a matter of what else the machine does.
func crowd(ctx context.Context, e *env) error {
	const item = "crowd"
	size := pick(e.Short, 3000, 500)
	steady := pick(e.Short, 60*time.Second, 12*time.Second)
	fast := pick(e.Short, 10*time.Second, 4*time.Second)
	slow := pick(e.Short, 20*time.Second, 8*time.Second)

	f, err := e.start(ctx, 3)
	defer f.close()
	if err != nil {
		return err
	}
	if err := f.Policy(ctx, item, map[string]any{"inflow_per_second": 0, "on_store_failure": "closed"}); err != nil {
		return err
	}
	if err := f.Act(ctx, item, "activate", nil); err != nil {
		return err
	}
	known, err := f.Known(ctx, item)
	if err != nil {
		return err
	}
	waiting, leave := context.WithCancel(ctx)
	store := f.redis.Client()
	defer store.Close()
	books := func(at time.Time) (in, ms int64, err error) {
		if err := pause(ctx, at); err != nil {
			return 0, 0, err
		}
		now, err := storeLine(store, nil).Look(ctx, item)
		return now.Counts.Admitted, now.NowMS, err
	}
	p := newPeople(item, f.Nodes, size)
	defer p.wg.Wait()
	defer leave()
	p.pace.Store(50_000)
	if err := p.gather(waiting, size); err != nil {
		return err
	}
	e.say("%d people stand in line", size)
	p.wg.Go(func() { p.follow(waiting) })

	begin, err := e.inflow(ctx, f, p, item, 50)
	if err != nil {
		return err
	}
	from := begin.Add(time.Second)
	steadyIn, steadyMS, err := books(from)
	if err != nil {
		return err
	}
	if err := pause(ctx, begin.Add(steady/2)); err != nil {
		return err
	}
	victim := f.Stepper(ctx, item)
	if victim == nil {
		return errors.New("no node exports the line's gauge")
	}
	failed := p.errors.Load()
	victim.Kill()
	e.say("killed %s, which moved the line", victim.Name)
	steadyTo, steadyToMS, err := books(from.Add(steady))
	if err != nil {
		return err
	}
	if err := pause(ctx, begin.Add(steady+2*time.Second)); err != nil {
		return err
	}
	toFast, err := e.inflow(ctx, f, p, item, 200)
	if err != nil {
		return err
	}
	fastIn, fastMS, err := books(toFast.Add(time.Second))
	if err != nil {
		return err
	}
	fastTo, fastToMS, err := books(toFast.Add(fast))
	if err != nil {
		return err
	}
	toSlow, err := e.inflow(ctx, f, p, item, 0.5)
	if err != nil {
		return err
	}
	slowIn, slowMS, err := books(toSlow.Add(time.Second))
	if err != nil {
		return err
	}
	slowTo, slowToMS, err := books(toSlow.Add(slow))
	if err != nil {
		return err
	}
	leave()
	p.wg.Wait()

	if why, ok := p.first.Load().(string); ok {
		e.say("%d requests failed, those at the killed node too; the first: %s", p.errors.Load(), why)
	}
	r, saw := &e.report, p.snapshot()
	at := admissions(saw)
	r.atMost("queue on at all nodes after the activation", float64(known.Milliseconds()), 1000, "ms")
	r.note("people who lined up", float64(len(saw)), "people")
	// What is due may be a tick late, and after a death as much as the others need to take over.
	const tick, takeover = 0.25, 1.5
	booked := func(name string, in, ms int64, perSecond, late float64) {
		due := perSecond * float64(ms) / 1000
		slack := max(1, due/100) + perSecond*late
		r.between(name, float64(in), math.Floor(due-slack), math.Floor(due+max(1, due/100)+perSecond*tick), "people")
	}
	booked("let in at 50/s, one node killed, by the books", steadyTo-steadyIn, steadyToMS-steadyMS, 50, pick(e.Short, tick, takeover))
	booked("let in at 200/s from 1 s after it was set, by the books", fastTo-fastIn, fastToMS-fastMS, 200, tick)
	booked("let in at 0.5/s from 1 s after it was set, by the books", slowTo-slowIn, slowToMS-slowMS, 0.5, 1)
	seen := r.between
	if e.Short {
		seen = func(name string, value, _, _ float64, unit string) { r.note(name, value, unit) }
	}
	due := 50 * steady.Seconds()
	slack := max(1, due/100)
	seen(fmt.Sprintf("let in within %.0f s at 50/s, one node killed", steady.Seconds()), float64(within(at, from, from.Add(steady))), due-slack, due+slack, "people")
	seen("most beyond 50/s in any span", excess(at, 50, begin, toFast), 0, 50*(1+watch.Seconds())+1, "people")
	settled := toFast.Add(time.Second + watch)
	many := 200 * toSlow.Sub(settled).Seconds()
	unseen := many/100 + 200*watch.Seconds()/2
	seen("let in from 1 s after setting 200", float64(within(at, settled, toSlow)), math.Ceil(many-unseen), math.Floor(many+unseen), "people")
	seen("let in during the second second after setting 200", float64(within(at, toFast.Add(time.Second), toFast.Add(2*time.Second))), 150, 250, "people")
	few := 0.5 * (slow - time.Second - watch).Seconds()
	seen("let in from 1 s after setting 0.5", float64(within(at, toSlow.Add(time.Second+watch), toSlow.Add(slow))), few-2, few+2, "people")
	r.atMost("longest wait after somebody later was let in", float64(overtaken(saw).Milliseconds()), float64((stale + watch).Milliseconds()), "ms")
	var grew int64
	for _, s := range saw {
		grew = max(grew, s.grew)
	}
	r.atMost("most by which a shown position grew", float64(grew), 0, "places")
	r.atMost("failed requests before the kill", float64(failed), 0, "requests")
	r.note("answers without the store", float64(p.storeless.Load()), "answers")
	r.Charts = append(r.Charts, curve(at, begin, toSlow.Add(slow), []rateSet{{begin, 50}, {toFast, 200}, {toSlow, 0.5}}))
	return nil
}

// gather makes n people line up, 32 at a time.
func (p *people) gather(ctx context.Context, n int) error {
	g, ctx2 := errgroup.WithContext(ctx)
	g.SetLimit(32)
	for range n {
		g.Go(func() error {
			if ctx2.Err() != nil {
				return ctx2.Err()
			}
			return p.join(ctx)
		})
	}
	return g.Wait()
}

// follow lets a newcomer line up for each who was let in, so that the line keeps its length.
func (p *people) follow(ctx context.Context) {
	for followed := int64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-p.changed:
		}
		for ; followed < p.letIn.Load(); followed++ {
			if err := p.join(ctx); err != nil && ctx.Err() == nil {
				p.failed(err.Error())
			}
		}
	}
}

// inflow sets the item's inflow by hand and gives the instant of the answer.
func (e *env) inflow(ctx context.Context, f *testbed, p *people, item string, perSecond float64) (time.Time, error) {
	p.pace.Store(int64(perSecond * 1000))
	err := f.Act(ctx, item, "inflow", map[string]any{"inflow_per_second": perSecond})
	e.say("inflow set to %v/s", perSecond)
	return time.Now(), err
}

// pause waits until t.
func pause(ctx context.Context, t time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Until(t)):
		return nil
	}
}
