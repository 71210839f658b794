package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/detector"
	"github.com/sluicehq/sluice/detector/memtraffic"
	"github.com/sluicehq/sluice/detector/redistraffic"
	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/internal/redisurl"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/heal"
	"github.com/sluicehq/sluice/queue/memline"
	"github.com/sluicehq/sluice/queue/redisline"
)

// line is all that a node calls of a line.
type line interface {
	Ask(context.Context, queue.Item, []queue.Ask) (queue.Answers, error)
	Touch(context.Context, queue.Item, []queue.Beat) (queue.TouchReport, error)
	End(context.Context, queue.Item, queue.Ending) (queue.EndReport, error)
	Recall(context.Context, queue.Item, queue.RecallOrder) (queue.RecallReport, error)
	Step(context.Context, queue.Item, queue.StepOrder) (queue.StepReport, error)
	StepMany(context.Context, []queue.Item, []queue.StepOrder) ([]queue.StepReport, []error)
	Switch(context.Context, queue.Item, queue.SwitchOrder) (queue.SwitchReport, error)
	Look(context.Context, queue.Item) (queue.Snapshot, error)
	LookMany(context.Context, []queue.Item) ([]queue.Snapshot, []error)
	Find(context.Context, queue.Item, queue.Visitor) (queue.Standing, error)
	FindRef(context.Context, queue.Item, string) (v queue.Visitor, found bool, err error)
	Positions(context.Context, queue.Item) (queue.Table, error)
	Head(context.Context, queue.Item, int) (queue.Head, error)
}

// traffic is the count of all nodes together.
type traffic interface {
	Flush(context.Context, []detector.Sample) ([]detector.Verdict, error)
}

// store is where the line is kept, and how nodes find each other: Redis, or this process.
type store struct {
	line    line
	traffic traffic
	tidy    func() // forgets items that have long been off

	// The rest is nil where the line is in this process.
	client  redis.UniversalClient
	shards  *shards // nil also where the store is no cluster
	changes *redisline.Changes
	nodes   *redisline.Nodes
	rising  *redisline.Rising
	settled *redisline.Settled

	unreplicated func() int64 // nil = the line is in this process
}

// aliveFor is how long a node counts as living after a sign of life, and beatEvery how often it gives one: the share of
// a node that died is taken over well within the second that a token bucket bridges.
const (
	aliveFor  = 800 * time.Millisecond
	beatEvery = 200 * time.Millisecond
)

// openStore opens the Redis of the settings, or makes a line in this process.
func (a *App) openStore(fingerprint string) error {
	if a.cfg.RedisURL == "" {
		var counts *memtraffic.Traffic
		l := memline.New(memline.Options{Clock: a.clock.Base, Traffic: func(item queue.Item, nowMS int64) (float64, float64, float64) {
			return counts.Measures(item, nowMS)
		}})
		counts = memtraffic.New(memtraffic.Options{Line: l, Clock: clockOf(a.clock)})
		a.store = store{line: oneByOne{l}, traffic: counts, tidy: func() { l.Sweep() }}
		return nil
	}
	client, err := redisurl.Open(string(a.cfg.RedisURL))
	if err != nil {
		return err
	}
	o := redisline.Options{Client: client, Prefix: a.cfg.RedisPrefix, MinReplicas: a.cfg.RedisMinReplicas}
	shards := watchShards(client)
	if shards != nil {
		o.Away = shards.away
	}
	l := redisline.New(o)
	a.store = store{
		shards: shards,
		tidy:   func() {}, // Redis forgets by itself
		line:   l, traffic: redistraffic.New(l), client: client,
		changes: redisline.NewChanges(client, a.cfg.RedisPrefix),
		rising:  redisline.NewRising(client, a.cfg.RedisPrefix, a.cfg.NodeID),
		settled: redisline.NewSettled(client, a.cfg.RedisPrefix), unreplicated: l.Unreplicated,
		nodes: redisline.NewNodes(client, a.cfg.RedisPrefix, a.cfg.NodeID, fingerprint, aliveFor),
	}
	return nil
}

func clockOf(s *clock.Store) clock.Clock {
	if s.Base == nil {
		return clock.System{}
	}
	return s.Base
}

// oneByOne is a line in this process, where steps in batches gain nothing.
type oneByOne struct{ *memline.Line }

// StepMany steps the items one after the other.
func (l oneByOne) StepMany(ctx context.Context, items []queue.Item, orders []queue.StepOrder) ([]queue.StepReport, []error) {
	reports, errs := make([]queue.StepReport, len(items)), make([]error, len(items))
	for i, item := range items {
		reports[i], errs[i] = l.Step(ctx, item, orders[i])
	}
	return reports, errs
}

// LookMany looks at the items one after the other.
func (l oneByOne) LookMany(ctx context.Context, items []queue.Item) ([]queue.Snapshot, []error) {
	snapshots, errs := make([]queue.Snapshot, len(items)), make([]error, len(items))
	for i, item := range items {
		snapshots[i], errs[i] = l.Look(ctx, item)
	}
	return snapshots, errs
}

// mending is a line whose damaged items are mended when somebody looks at them or orders something.
type mending struct {
	line
	healed *heal.Line
}

// Switch does what is ordered to an item's queue.
func (m mending) Switch(ctx context.Context, item queue.Item, o queue.SwitchOrder) (queue.SwitchReport, error) {
	return m.healed.Switch(ctx, item, o)
}

// End ends what a visitor has.
func (m mending) End(ctx context.Context, item queue.Item, e queue.Ending) (queue.EndReport, error) {
	return mended(ctx, m.healed, item, func() (queue.EndReport, error) { return m.line.End(ctx, item, e) })
}

// Look gives the whole of one queue.
func (m mending) Look(ctx context.Context, item queue.Item) (queue.Snapshot, error) {
	return mended(ctx, m.healed, item, func() (queue.Snapshot, error) { return m.line.Look(ctx, item) })
}

// Find says where one visitor stands.
func (m mending) Find(ctx context.Context, item queue.Item, v queue.Visitor) (queue.Standing, error) {
	return mended(ctx, m.healed, item, func() (queue.Standing, error) { return m.line.Find(ctx, item, v) })
}

// mended makes a call, and where it finds the item damaged once more after the item was mended.
func mended[R any](ctx context.Context, healed *heal.Line, item queue.Item, call func() (R, error)) (R, error) {
	r, err := call()
	if errors.Is(err, queue.ErrDamaged) {
		if err = healed.Mend(ctx, item); err == nil {
			return call()
		}
	}
	return r, err
}

// mendingTraffic is a traffic whose damaged items are mended: what the next flush brings counts.
type mendingTraffic struct {
	traffic
	healed *heal.Line
}

// Flush joins the counts of this node to those of all.
func (m mendingTraffic) Flush(ctx context.Context, samples []detector.Sample) ([]detector.Verdict, error) {
	verdicts, err := m.traffic.Flush(ctx, samples)
	for i := range verdicts {
		if v := &verdicts[i]; errors.Is(v.Err, queue.ErrDamaged) {
			v.Err = errors.Join(v.Err, m.healed.Mend(ctx, v.Item))
		}
	}
	return verdicts, err
}

// telling is a line that tells of each end that it was ordered.
type telling struct {
	line
	ended func(queue.Item, queue.Ending, queue.EndReport)
}

// End ends what a visitor has.
func (t telling) End(ctx context.Context, item queue.Item, e queue.Ending) (queue.EndReport, error) {
	r, err := t.line.End(ctx, item, e)
	if err == nil {
		t.ended(item, e, r)
	}
	return r, err
}

// errOtherKey stops a node whose secret key differs from that of the store's other nodes.
var errOtherKey = errors.New("--secret-key differs from that of the nodes that use this store: tokens of one would not hold at the others")

func (s store) close() error {
	if s.client == nil {
		return nil
	}
	if err := s.client.Close(); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}
