package detector

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type event struct{ ms, n int64 }

func TestWindow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		width  int64
		events []event
		at     int64
		want   float64
	}{
		// B017
		{"equal stamps all count", 10_000, []event{{5, 490}, {5, 10}, {5, 10}}, 2005, 510},
		// B022
		{"a rush across the edge of a clock window is one", 10_000, []event{{9_500, 150}, {9_900, 150}, {10_100, 150}, {10_500, 150}}, 10_500, 600},
		// B124
		{"what is older than the window is gone before the next counts", 10_000, []event{{0, 499}, {10_600, 1}}, 10_600, 1},
		{"what is younger than the window counts", 10_000, []event{{0, 499}, {9_400, 1}}, 9_400, 500},
		{"a whole bucket that has left counts nothing", 10_000, []event{{0, 499}, {10_250, 1}}, 10_250, 1},
		{"an event exactly as old as the window is gone", 10_000, []event{{1000, 3}, {11_000, 1}}, 11_000, 1},
		{"a millisecond before that it counts almost whole", 10_000, []event{{1000, 100}}, 10_901, 99},
		{"an event at a bucket's end belongs to it", 10_000, []event{{100, 1}, {101, 1}}, 10_100, 1},
		{"the oldest bucket counts pro rata", 10_000, []event{{50, 10}}, 10_025, 7.5},
		{"times before 1970 count alike", 10_000, []event{{-9_000, 2}, {-500, 1}}, 1_000, 1},
		{"a late event falls into its own bucket", 10_000, []event{{0, 1}, {5_000, 1}, {2_000, 3}, {2_000, 1}, {-100, 2}}, 10_050, 5.0},
		{"what comes later than the window counts nothing", 10_000, []event{{50_000, 1}, {1_000, 9}}, 50_000, 1},
		{"a long window has buckets of a thousandth", 600_000, []event{{600, 10}}, 600_300, 5},
		{"nothing counts nothing", 10_000, nil, 10_000, 0},
		{"an event from a clock ahead counts", 10_000, []event{{20_000, 2}}, 10_000, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := NewWindow(c.width)
			for _, e := range c.events {
				w.Add(e.ms, e.n)
			}
			if got := w.Sum(c.at); math.Abs(got-c.want) > 1e-9 {
				t.Errorf("Sum(%d) = %v, want %v", c.at, got, c.want)
			}
		})
	}
}

// B125: one request every 9 s never adds up, however long it goes on, and a change of the width leaves nothing behind.
func TestWindowNeverAccumulates(t *testing.T) {
	t.Parallel()
	w := NewWindow(10_000)
	now := int64(0)
	for _, width := range []int64{10_000, 600_000, 1_000, 10_000} {
		w.Resize(width)
		for range 34 {
			now += 9_000
			w.Add(now, 1)
			if got, most := w.Sum(now), float64(max(width, 10_000)/9_000+1); got > most {
				t.Fatalf("width %d: sum %v, at most %v can be in the window", width, got, most)
			}
		}
	}
	if w.Sum(now+20_000) != 0 || !w.Empty() {
		t.Error("after two quiet windows something is left")
	}
}

// The sum differs from an exact sliding count by at most what lies in the one oldest sub-bucket, and by nothing for
// whole-second stamps where the bucket divides a second.
func TestWindowIsExactButForOneBucket(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.SampledFrom([]int64{1000, 10_000, 60_000, 100_000, 300_000, 600_000, 7_000}).Draw(t, "width")
		grain := rapid.SampledFrom([]int64{1, 1, 7, 1000}).Draw(t, "grain")
		w := NewWindow(width)
		now := rapid.Int64Range(-1_000_000, 2_000_000_000_000).Draw(t, "start") / grain * grain
		var exact []event
		for range rapid.IntRange(1, 200).Draw(t, "events") {
			now += rapid.Int64Range(0, width/20).Draw(t, "gap") / grain * grain
			late := min(rapid.Int64Range(0, 1500).Draw(t, "late")/grain*grain, width)
			n := rapid.Int64Range(1, 50).Draw(t, "n")
			w.Add(now-late, n)
			exact = append(exact, event{now - late, n})
			var want, slack int64
			cut := now - width
			end := ceilDiv(cut, w.bucketMS) * w.bucketMS
			for _, e := range exact {
				if e.ms > cut {
					want += e.n
				}
				if e.ms > end-w.bucketMS && e.ms <= end && cut != end {
					slack += e.n
				}
			}
			if grain == 1000 && 1000%w.bucketMS == 0 && slack != 0 {
				t.Fatalf("whole seconds left a bucket half covered")
			}
			if got := w.Sum(now); math.Abs(got-float64(want)) > float64(slack)+1e-6 {
				t.Fatalf("Sum(%d) = %v, exact %d, oldest bucket %d", now, got, want, slack)
			}
			exact = slices.DeleteFunc(exact, func(e event) bool { return e.ms < cut-2000 })
		}
	})
}

func TestWindowFallsBelowWhenItSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := NewWindow(rapid.SampledFrom([]int64{1000, 10_000, 300_000}).Draw(t, "width"))
		now := int64(0)
		for range rapid.IntRange(1, 20).Draw(t, "events") {
			now += rapid.Int64Range(0, 700).Draw(t, "gap")
			w.Add(now, rapid.Int64Range(1, 9).Draw(t, "n"))
		}
		limit := rapid.Float64Range(0.1, 60).Draw(t, "limit")
		at, ok := w.FallsBelow(limit, now)
		if !ok {
			t.Fatal("it never falls")
		}
		before, after := w, w
		before.ring, after.ring = slices.Clone(w.ring), slices.Clone(w.ring)
		if at > now && before.Sum(at-1) < limit {
			t.Fatalf("it is below %v at %d already", limit, at-1)
		}
		if after.Sum(at) >= limit {
			t.Fatalf("it is not below %v at %d", limit, at)
		}
	})
}

func BenchmarkWindow(b *testing.B) {
	w := NewWindow(10_000)
	b.ReportAllocs()
	var now int64
	for b.Loop() {
		now++
		w.Add(now, 1)
		w.Sum(now)
	}
}
