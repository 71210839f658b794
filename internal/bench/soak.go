package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluicehq/sluice/internal/childproc"
)

// soak plays five minutes of mixed traffic, with sessions shorter than that, and compares what is left of it at the end
// with what there was after the second minute: nothing may pile up.
func soak(ctx context.Context, e *env) error {
	first := pick(e.Short, 2*time.Minute, 6*time.Second)
	lasts := pick(e.Short, 5*time.Minute, 12*time.Second)
	scale := pick(e.Short, 1, 0.2)

	f, err := e.start(ctx, 1)
	defer f.close()
	if err != nil {
		return err
	}
	store := f.redis.Client()
	defer store.Close()
	brief := map[string]any{"session_seconds": 30, "claim_seconds": 10, "abandon_seconds": 30, "return_seconds": 30, "trigger_requests": 1_000_000}
	for item, inflow := range map[string]float64{"calm": 150, "rush": 100} {
		brief["inflow_per_second"] = inflow * scale
		if err := f.open(ctx, item, brief); err != nil {
			return err
		}
	}

	s := newStage()
	playing, stop := context.WithCancel(ctx)
	defer stop()
	g, playing := errgroup.WithContext(playing)
	g.Go(func() error { return s.play(playing, f.hosts(), 32) })
	g.Go(func() error { return arrive(playing, s, f.Nodes[0].Host(), scale) })
	var before, after leftovers
	g.Go(func() (err error) {
		defer stop()
		if err := pause(playing, s.began.Add(first)); err != nil {
			return err
		}
		if before, err = f.left(playing); err != nil {
			return err
		}
		e.say("%d asked; %s", s.asked.Load(), before)
		if err := pause(playing, s.began.Add(lasts)); err != nil {
			return err
		}
		after, err = f.left(playing)
		return err
	})
	if err := g.Wait(); err != nil {
		return err
	}
	e.say("%d asked; %s", s.asked.Load(), after)

	r := &e.report
	r.note("requests", float64(s.asked.Load())/lasts.Seconds(), "per second")
	r.atMost("requests that failed", float64(s.failed.Load()), 0, "requests")
	for _, one := range []struct {
		name       string
		was, is    float64
		unit       string
		everything bool
	}{
		{"live heap of the node", before.heap, after.heap, "MB", true},
		{"goroutines of the node", before.goroutines, after.goroutines, "", true},
		{"keys in the store", before.keys, after.keys, "", true},
		{"memory of the store", before.storeMB, after.storeMB, "MB", false},
		{"memory of the node", before.resident, after.resident, "MB", false},
	} {
		r.note(one.name+" after "+first.String(), one.was, one.unit)
		change := math.Abs(one.is/one.was-1) * 100
		if one.everything {
			r.limit(e.Short, one.name+" at the end: changed by", change, 5, "%")
		} else {
			r.note(one.name+" at the end", one.is, one.unit)
		}
	}
	return nil
}

// arrive sends people on the stage: 200 a second to items without a queue, 100 to a queue that keeps up with them, 200
// to one that does not, where most lose patience.
func arrive(ctx context.Context, s *stage, host string, scale float64) error {
	const every = 50 * time.Millisecond
	kinds := []struct {
		perSecond float64
		make      func() *guest
	}{
		{200, func() *guest { return &guest{item: fmt.Sprintf("quiet-%d", rand.IntN(2_000)), visits: 1} }},
		{100, func() *guest { return &guest{item: "calm", visits: 3, finishes: rand.IntN(2) == 0} }},
		{200, func() *guest { return &guest{item: "rush", visits: 1, patience: 15 * time.Second} }},
	}
	sent := make([]float64, len(kinds))
	began := time.Now()
	for {
		if pause(ctx, time.Now().Add(every)) != nil {
			return nil
		}
		for i, k := range kinds {
			for due := k.perSecond * scale * time.Since(began).Seconds(); sent[i] < due; sent[i]++ {
				g := k.make()
				g.host, g.pause = host, time.Duration(1000+rand.IntN(3000))*time.Millisecond
				s.add(g, time.Duration(rand.Int64N(int64(every))))
			}
		}
	}
}

// leftovers are what traffic may leave behind.
type leftovers struct{ heap, goroutines, keys, storeMB, resident float64 }

func (l leftovers) String() string {
	return fmt.Sprintf("heap %.1f MB, %.0f goroutines, %.0f keys, store %.1f MB", l.heap, l.goroutines, l.keys, l.storeMB)
}

// left measures, after a collection, what the first node and the store hold.
func (f *testbed) left(ctx context.Context) (l leftovers, err error) {
	n := f.Nodes[0]
	heap, goroutines, err := f.Live(ctx, n)
	if err != nil {
		return l, err
	}
	l.heap, l.goroutines = heap/1e6, goroutines
	store := f.redis.Client()
	defer store.Close()
	used, err := storeInfo(ctx, store, "memory", "used_memory")
	if err != nil {
		return l, err
	}
	l.keys, l.storeMB, l.resident = float64(store.DBSize(ctx).Val()), used/1e6, childproc.ResidentMB(n.PID())
	return l, nil
}
