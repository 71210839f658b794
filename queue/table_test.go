package queue_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/queue"
)

// tableOf samples a line (scores, rising) as the stores do.
func tableOf(line []int64, dense int64) queue.Table {
	n := int64(len(line))
	t := queue.Table{Waiting: n, Exact: min(n, dense)}
	for _, rank := range queue.SampleRanks(n, dense) {
		t.Samples = append(t.Samples, queue.Sample{Rank: rank, Score: line[rank-1]})
	}
	return t
}

// drawLine draws arrivals: bursts, a microsecond apart, and droughts, in any order.
func drawLine(t *rapid.T) []int64 {
	var line []int64
	score := int64(1_800_000_000_000_000)
	for range rapid.IntRange(1, 8).Draw(t, "spans") {
		gap := rapid.SampledFrom([]int64{1, 2, 1000, 50_000, 3_600_000_000}).Draw(t, "gap")
		for range rapid.IntRange(0, 4000).Draw(t, "people") {
			score += gap
			line = append(line, score)
		}
		score += gap
	}
	return line
}

func TestAPositionIsRightToAHundredthWhateverTheArrivals(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := drawLine(t)
		dense := rapid.SampledFrom([]int64{1, 100, 200, 500, 2000}).Draw(t, "dense")
		table := tableOf(line, dense)
		last := int64(0)
		for i, score := range line {
			rank := int64(i + 1)
			got, exact := table.Position(score)
			if off := max(got-rank, rank-got); off*100 > rank || rank <= dense && (off != 0 || !exact) || exact && off != 0 {
				t.Fatalf("place %d of %d: %d, exact %v", rank, len(line), got, exact)
			}
			if got < last {
				t.Fatalf("place %d is shown as %d, the one before it as %d", rank, got, last)
			}
			last = got
		}
	})
}

func TestNobodyNearTheHeadStandsWhereNobodyDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := drawLine(t)
		table := tableOf(line, 200)
		for i := range line[:min(len(line), 200)] {
			gone := line[i] - 1
			if i > 0 && line[i-1] == gone {
				continue
			}
			if got, exact := table.Position(gone); got != 0 || exact {
				t.Fatalf("just before place %d: %d, exact %v", i+1, got, exact)
			}
		}
	})
}

func TestPosition(t *testing.T) {
	t.Parallel()
	line := make([]int64, 1000)
	for i := range line {
		line[i] = int64(1000 + 10*i)
	}
	table, short := tableOf(line, 200), tableOf(line[:3], 200)
	for _, tc := range []struct {
		name  string
		table queue.Table
		score int64
		rank  int64
		exact bool
	}{
		{"an empty line has no place", queue.Table{}, 1000, 0, false},
		{"the first", table, 1000, 1, true},
		{"one who left before the first", table, 999, 0, false},
		{"the last that is known exactly", table, 2990, 200, true},
		{"one who left between two that are known", table, 2985, 0, false},
		{"a sample further back is no promise", table, line[201], 202, false},
		{"the last", table, line[999], 1000, false},
		{"one who came after the table was taken", table, line[999] + 1, 1001, false},
		{"the last of a short line is known exactly", short, 1020, 3, true},
		{"one who came behind a short line", short, 1021, 4, false},
		{"one who left a short line", short, 1011, 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if rank, exact := tc.table.Position(tc.score); rank != tc.rank || exact != tc.exact {
				t.Errorf("%d, exact %v; want %d, %v", rank, exact, tc.rank, tc.exact)
			}
		})
	}
}

func TestSampleRanks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1_000_000).Draw(t, "n")
		dense := rapid.Int64Range(1, 2000).Draw(t, "dense")
		ranks := queue.SampleRanks(n, dense)
		if n == 0 {
			if len(ranks) != 0 {
				t.Fatalf("%d samples of nobody", len(ranks))
			}
			return
		}
		if ranks[0] != 1 || ranks[len(ranks)-1] != n || !slices.IsSorted(ranks) {
			t.Fatalf("from %d to %d of %d", ranks[0], ranks[len(ranks)-1], n)
		}
		for i, r := range ranks[1:] {
			if step := r - ranks[i]; step < 1 || r <= dense && step != 1 || step > max(1, ranks[i]/100) {
				t.Fatalf("%d after %d", r, ranks[i])
			}
		}
	})
	if got := len(queue.SampleRanks(1_000_000, 200)); got > 1200 {
		t.Errorf("%d samples of a million", got)
	}
}
