package bench

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluicehq/sluice/internal/childproc"
)

// storm lets 200,000 people wait in line who poll as they are told, under a budget of polls.
func storm(ctx context.Context, e *env) error {
	const item = "storm"
	people := pick(e.Short, 200_000, 1_000)
	budget := pick(e.Short, 4_000, 200)
	inflow := pick(e.Short, 50, 20)
	span := pick(e.Short, 60*time.Second, 5*time.Second)

	f, err := e.start(ctx, 1)
	defer f.close()
	if err != nil {
		return err
	}
	if err := f.open(ctx, item, map[string]any{
		"inflow_per_second": inflow, "poll_budget_per_second": budget, "abandon_seconds": 600, "claim_seconds": 600,
		"on_store_failure": "closed",
	}); err != nil {
		return err
	}
	// They come over the time that the budget leaves between two polls of one person: who all came at one instant would
	// also poll at one, until chance has spread them.
	interval := time.Duration(float64(people) / float64(budget) * float64(time.Second))
	s := newStage()
	for i := range people {
		s.add(&guest{host: f.Nodes[0].Host(), item: item}, time.Duration(float64(interval)*float64(i)/float64(people)))
	}
	playing, stop := context.WithCancel(ctx)
	defer stop()
	g, playing := errgroup.WithContext(playing)
	g.Go(func() error { return s.play(playing, f.hosts(), 32) })
	g.Go(func() error {
		defer stop()
		if err := pause(playing, s.began.Add(interval)); err != nil {
			return err
		}
		e.say("%d asked, %d are in line", s.asked.Load(), s.now.Load())
		if err := pause(playing, s.began.Add(2*interval)); err != nil {
			return err
		}
		return e.stormed(playing, f, s, budget, span)
	})
	if err := g.Wait(); err != nil {
		return err
	}
	return nil
}

// stormed measures the polls over a span, in parts.
func (e *env) stormed(ctx context.Context, f *testbed, s *stage, budget int, span time.Duration) error {
	const parts = 5
	var rates []float64
	from, cpu := s.asked.Load(), processor(f.Nodes[0])
	begin := time.Now()
	for i := range parts {
		was, at := s.asked.Load(), time.Now()
		if err := pause(ctx, begin.Add(span*time.Duration(i+1)/parts)); err != nil {
			return err
		}
		rates = append(rates, float64(s.asked.Load()-was)/time.Since(at).Seconds())
		e.say("%.0f polls/s", rates[i])
	}
	took := time.Since(begin)
	polls := float64(s.asked.Load() - from)
	cpu = processor(f.Nodes[0]) - cpu
	var counted int64
	n, err := f.countCalls(ctx, func() error {
		was := s.asked.Load()
		err := pause(ctx, time.Now().Add(pick(e.Short, 5*time.Second, time.Second)))
		counted = s.asked.Load() - was
		return err
	})
	if err != nil {
		return err
	}

	r := &e.report
	slack := pick(e.Short, 0.1, 0.35)
	r.note("people in line", float64(s.now.Load()), "people")
	r.between(fmt.Sprintf("polls asked for in %.0f s, budget %d/s", took.Seconds(), budget), polls/took.Seconds(),
		float64(budget)*(1-slack), float64(budget)*(1+slack), "polls/s")
	least, most := rates[0], rates[0]
	for _, rate := range rates {
		least, most = min(least, rate), max(most, rate)
	}
	r.note("least and most in a fifth of that", least, "polls/s")
	r.note("", most, "polls/s")
	r.limit(e.Short, "store commands by clients", float64(n.byClients)/float64(max(1, counted)), 0.1, "per poll")
	r.note("store commands inside scripts", float64(n.inScripts)/float64(max(1, counted)), "per poll")
	r.note("processor time of the node", cpu.Seconds()/polls*1e6, "µs/poll")
	r.note("memory of the node", childproc.ResidentMB(f.Nodes[0].PID()), "MB")
	r.atMost("requests that failed", float64(s.failed.Load()), 0, "requests")
	return nil
}
