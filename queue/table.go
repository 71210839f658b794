package queue

import (
	"slices"
	"sort"
)

// Table is a sample of one line: scores at known ranks, close together near the head and about 1 % of the rank apart
// further back, which bounds the error of a position between two samples by that step, whatever the arrivals were.
type Table struct {
	AtMS    int64 // when it was taken, store's clock
	Waiting int64
	Header  Header
	Exact   int64    // ranks 1..Exact are all there
	Samples []Sample // rank rising, score rising
}

// Head is the beginning of one line, whole: the scores of those who are next, in order.
type Head struct {
	Waiting int64 // in all
	Scores  []int64
}

// Position is the rank of a score, 1 = next; 0 where it is not in the head.
func (h Head) Position(score int64) int64 {
	if i, found := slices.BinarySearch(h.Scores, score); found {
		return int64(i) + 1
	}
	return 0
}

// Sample is one entry of a Table.
type Sample struct {
	Rank  int64 // 1 = next
	Score int64
}

// Position estimates the rank of a score: exact (true) up to Exact, else by linear interpolation between the two
// samples around it. A score below the first sample has left the line: 0. O(log n) in the samples.
func (t Table) Position(score int64) (rank int64, exact bool) {
	s := t.Samples
	if len(s) == 0 || score < s[0].Score {
		return 0, false
	}
	i := sort.Search(len(s), func(i int) bool { return s[i].Score > score }) - 1
	if s[i].Score == score {
		return s[i].Rank, s[i].Rank <= t.Exact
	}
	if s[i].Rank < t.Exact {
		return 0, false // between two neighbours that are both known: not in line
	}
	if i == len(s)-1 {
		return t.Waiting + 1, false // joined after the table was taken
	}
	a, b := s[i], s[i+1]
	f := float64(score-a.Score) / float64(b.Score-a.Score)
	return a.Rank + int64(f*float64(b.Rank-a.Rank)), false
}

// SampleRanks gives the ranks (1-based) to sample in a line of n: all up to dense, then each 1 % further, and the last.
func SampleRanks(n, dense int64) []int64 {
	var r []int64
	for k := int64(1); k <= min(n, dense); k++ {
		r = append(r, k)
	}
	for k := FirstSampled(dense); k < n; k += max(k/100, 1) {
		r = append(r, k)
	}
	if n > dense {
		r = append(r, n)
	}
	return r
}

// FirstSampled is the first rank to sample behind the dense ones.
func FirstSampled(dense int64) int64 { return dense + max(dense/100, 1) }
