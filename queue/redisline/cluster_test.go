package redisline_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/detector"
	"github.com/sluicehq/sluice/detector/redistraffic"
	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/internal/redistest"
	"github.com/sluicehq/sluice/internal/redisurl"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/linetest"
	"github.com/sluicehq/sluice/queue/redisline"
)

// B035: the whole of a line does on a cluster what it does on one server: no script and no pipeline needs two slots at once.
func TestLineOnACluster(t *testing.T) {
	t.Parallel()
	client, err := redisurl.Open(redistest.NewCluster(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	var lines atomic.Int64
	t.Run("rules", func(t *testing.T) {
		linetest.Exercise(t, func(_ *testing.T, c clock.Clock) linetest.Line {
			return redisline.New(redisline.Options{Client: client, Prefix: fmt.Sprintf("t%d:", lines.Add(1)), Clock: c})
		})
	})
	t.Run("slots", func(t *testing.T) { slotsOf(t, client) })
	t.Run("many items in one call", func(t *testing.T) { manyAtOnce(t, client) })
}

// slotsOf: the keys of an item are in one slot, and items in many.
func slotsOf(t *testing.T, client redis.UniversalClient) {
	ctx := context.Background()
	const items = 1000
	line := redisline.New(redisline.Options{Client: client, Prefix: "sluice:"})
	used := map[int64]bool{}
	for i := range items {
		item := queue.Item(fmt.Sprintf("sku-%d", i))
		all := append(line.Keys(item), line.ActiveKeys(item)...)
		if i > 0 {
			all = all[:1] // the rest are built alike
		}
		slot := int64(-1)
		for _, key := range all {
			got, err := client.ClusterKeySlot(ctx, key).Result()
			if err != nil {
				t.Fatal(err)
			}
			if slot >= 0 && got != slot {
				t.Errorf("%s is in slot %d, and not in %d as %s", key, got, slot, all[0])
			}
			slot = got
		}
		used[slot] = true
	}
	if len(used) <= items*9/10 {
		t.Errorf("%d items are in %d slots", items, len(used))
	}
}

// manyAtOnce: what goes out for many items in one call reaches the servers of all of them, also one that has never had the
// script.
func manyAtOnce(t *testing.T, client redis.UniversalClient) {
	ctx := context.Background()
	line := redisline.New(redisline.Options{Client: client, Prefix: "many:"})
	limits := queue.DefaultPolicy().Limits(1)
	if err := client.ScriptFlush(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	var items []queue.Item
	var samples []detector.Sample
	for i := range 100 {
		items = append(items, queue.Item(fmt.Sprintf("sku-%d", i)))
		samples = append(samples, detector.Sample{
			Item: items[i], Limits: limits, Node: "a", Seq: 1, Counts: []detector.Bucket{{AgeMS: 0, N: int64(i)}},
		})
	}
	verdicts, err := redistraffic.New(line).Flush(ctx, samples)
	if err != nil || len(verdicts) != len(items) {
		t.Fatalf("%d verdicts, %v", len(verdicts), err)
	}
	for i, v := range verdicts {
		if v.Err != nil || v.Item != items[i] || v.Requests != float64(i) {
			t.Errorf("%+v", v)
		}
	}
	for _, item := range items {
		if _, err := line.Switch(ctx, item, queue.SwitchOrder{Action: queue.Activate, Limits: limits, Cause: queue.ByOperator}); err != nil {
			t.Fatal(err)
		}
	}
	orders := make([]queue.StepOrder, len(items))
	for i := range orders {
		orders[i] = queue.StepOrder{Limits: limits, Most: 100, TickMS: 250}
	}
	reports, errs := line.StepMany(ctx, items, orders)
	looks, lookErrs := line.LookMany(ctx, items)
	for i, item := range items {
		if errs[i] != nil || reports[i].Header.Item != item || !reports[i].Header.On() {
			t.Errorf("step of %s: %+v, %v", item, reports[i].Header, errs[i])
		}
		if lookErrs[i] != nil || looks[i].Header.Item != item || !looks[i].Header.On() {
			t.Errorf("look at %s: %+v, %v", item, looks[i].Header, lookErrs[i])
		}
	}
}
