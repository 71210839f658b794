package queue_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
)

// table is a sample of a line of n, in which one joined each 20 µs.
func table(n int64) queue.Table {
	const first = 1_796_000_000_000_000
	t := queue.Table{Waiting: n, Exact: min(n, 2000)}
	for _, rank := range queue.SampleRanks(n, 2000) {
		t.Samples = append(t.Samples, queue.Sample{Rank: rank, Score: first + 20*rank})
	}
	return t
}

func BenchmarkTablePosition(b *testing.B) {
	for _, n := range []int64{1_000, 1_000_000} {
		b.Run(fmt.Sprintf("%d waiting", n), func(b *testing.B) {
			t := table(n)
			first, last := t.Samples[0].Score, t.Samples[len(t.Samples)-1].Score
			b.ReportAllocs()
			for i := int64(0); b.Loop(); i++ {
				if rank, _ := t.Position(first + i*7919%(last-first+1)); rank < 0 {
					b.Fatal(rank)
				}
			}
		})
	}
}

func BenchmarkSampleRanks(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		queue.SampleRanks(1_000_000, 2000)
	}
}

// BenchmarkPoliciesFor finds the policy of an item among 10,000: 5,000 items of their own and 5,000 globs with their
// stars in all places.
func BenchmarkPoliciesFor(b *testing.B) {
	byPattern := map[queue.Pattern]queue.Policy{"*": queue.DefaultPolicy()}
	for i := range 5_000 {
		byPattern[queue.Pattern(fmt.Sprintf("sku-%d", i))] = queue.DefaultPolicy()
		switch i % 4 {
		case 0:
			byPattern[queue.Pattern(fmt.Sprintf("concert-%d-*", i))] = queue.DefaultPolicy()
		case 1:
			byPattern[queue.Pattern(fmt.Sprintf("shop-%d*-limited", i))] = queue.DefaultPolicy()
		case 2:
			byPattern[queue.Pattern(fmt.Sprintf("*-drop-%d", i))] = queue.DefaultPolicy()
		case 3:
			byPattern[queue.Pattern(fmt.Sprintf("*-artist-%d-*", i))] = queue.DefaultPolicy()
		}
	}
	ps := queue.NewPolicies(1, byPattern)
	for _, c := range []struct {
		name string
		item queue.Item
		want queue.Pattern
	}{
		{"its own", "sku-4711", "sku-4711"},
		{"a prefix", "concert-4500-row-7", "concert-4500-*"},
		{"a prefix and an ending", "shop-4997x-limited", "shop-4997*-limited"},
		{"an ending, among 1,250", "shoe-drop-2", "*-drop-2"},
		{"a middle, among 1,250", "tour-artist-4703-berlin", "*-artist-4703-*"},
		{"none", "something-else", "*"},
		{"none, of the longest id", queue.Item(strings.Repeat("artist-1", 16)), "*"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got := ps.Rule(c.item); got.Pattern != c.want {
					b.Fatalf("%s, not %s", got.Pattern, c.want)
				}
			}
		})
	}
}

func BenchmarkEstimate(b *testing.B) {
	limits := queue.DefaultPolicy().Limits(1)
	b.ReportAllocs()
	for b.Loop() {
		e := queue.EstimateWait(100_000, queue.Flow{InflowPerSecond: 50, Turnout: 0.8})
		if queue.PollAfter(e, limits, 1, 0.5) < time.Second {
			b.Fatal(e)
		}
	}
}
