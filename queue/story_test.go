package queue_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/queue"
)

func TestTheMedianWaitIsRightWithinABucket(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		waits := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(0, 5000), rapid.Int64Range(0, 7_200_000)), 1, 200).Draw(t, "waits")
		var s queue.Story
		for _, ms := range waits {
			s.Waits.Add(ms)
			s.LongestMS = max(s.LongestMS, ms)
		}
		s.AtOnce = rapid.Int64Range(0, 3).Draw(t, "at once")
		all := append(slices.Clone(waits), make([]int64, s.AtOnce)...)
		slices.Sort(all)
		low, high := all[(len(all)-1)/2], all[len(all)/2] // any value between the two is a median
		got, ok := s.MedianMS()
		if !ok || float64(got) < float64(low)*0.79-128 || float64(got) > float64(high)*1.26+128 || got > s.LongestMS {
			t.Fatalf("median %d of %v, want %d to %d", got, all, low, high)
		}
	})
	if _, ok := (queue.Story{}).MedianMS(); ok {
		t.Error("nobody waited, and there is a median")
	}
}

func TestBucketsOfWaitsRise(t *testing.T) {
	t.Parallel()
	last := 0
	for ms := int64(0); ms < 1<<40; ms += 1 + ms/9 {
		b := queue.WaitBucket(ms)
		if b < last || b > last+1 || b > 85 {
			t.Fatalf("%d ms is in bucket %d, after %d", ms, b, last)
		}
		last = b
	}
}
