package app

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sluicehq/sluice/detector"
	"github.com/sluicehq/sluice/detector/redistraffic"
	"github.com/sluicehq/sluice/internal/telemetry"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/redisline"
)

// mostSalesDue bounds the sales whose next steps are shown.
const mostSalesDue = 20

// salesDue are the next steps of the sales that come first.
func (a *App) salesDue() []telemetry.SaleDue {
	now := a.clock.Now().UnixMilli()
	var due []telemetry.SaleDue
	shown := map[[2]string]bool{}
	for _, p := range a.settings.Now().Sales().Plans() {
		o, ok := p.At(now)
		if !ok {
			continue
		}
		for _, step := range []struct {
			name string
			ms   int64
		}{{"prequeue", o.PrequeueMS}, {"open", o.OpensMS}, {"close", o.ClosesMS}} {
			key := [2]string{string(p.Item), step.name}
			if step.ms > now && !shown[key] {
				shown[key] = true
				due = append(due, telemetry.SaleDue{Item: string(p.Item), Step: step.name, At: time.UnixMilli(step.ms)})
			}
		}
	}
	slices.SortFunc(due, func(x, y telemetry.SaleDue) int { return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.Item, y.Item)) })
	return due[:min(len(due), mostSalesDue)]
}

// keyEnds is when the first of the replaced keys of passes verifies no more.
func (a *App) keyEnds() time.Time {
	var first time.Time
	for _, k := range a.settings.Now().PassKeys(a.clock.Now()) {
		if !k.EndsAt.IsZero() && (first.IsZero() || k.EndsAt.Before(first)) {
			first = k.EndsAt
		}
	}
	return first
}

// activated counts a queue that was turned on while this node runs, if the item is this node's to step: so each is
// counted once over all nodes.
func (a *App) activated(h queue.Header) {
	if a.cfg.Roles.Scheduler && h.ActivatedMS >= a.started.Add(a.clock.Skew()).UnixMilli() && a.share.Mine(h.Item) {
		a.metrics.Activated(h.Cause)
	}
}

// countedTraffic is a traffic whose requests are shown by item.
type countedTraffic struct {
	traffic
	app *App
}

// Flush joins the counts of this node to those of all.
func (c countedTraffic) Flush(ctx context.Context, samples []detector.Sample) ([]detector.Verdict, error) {
	verdicts, err := c.traffic.Flush(ctx, samples)
	taken := make(map[queue.Item]int64, len(samples))
	for _, s := range samples {
		taken[s.Item] += s.Requests()
	}
	now := c.app.clock.Machine()
	for _, v := range verdicts {
		if v.Err == nil {
			c.app.metrics.Counted(v.Item, taken[v.Item], now)
		}
	}
	return verdicts, err
}

// storeScripts names the scripts of the store by their digests.
func storeScripts() map[string]string {
	all := redisline.Scripts()
	maps.Copy(all, redistraffic.Scripts())
	return all
}
