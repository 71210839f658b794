package memline

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sluicehq/sluice/queue"
	"pgregory.net/rapid"
)

// naive is what sorted must be: a slice kept in order.
type naive []entry

func TestSortedAgreesWithASliceInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s sorted
		var n naive
		// Many at once, so that blocks fill, split and empty.
		for range rapid.IntRange(0, 3).Draw(t, "batches") {
			from, step := rapid.Int64Range(0, 5000).Draw(t, "from"), rapid.Int64Range(1, 7).Draw(t, "step")
			for i := range rapid.Int64Range(0, 1500).Draw(t, "many") {
				n = n.insert(&s, entry{from + i*step, "visitor-of-batch"})
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) { n = n.insert(&s, drawEntry(t)) },
			"remove": func(t *rapid.T) {
				e := drawEntry(t)
				if len(n) > 0 && rapid.Bool().Draw(t, "there") {
					e = n[rapid.IntRange(0, len(n)-1).Draw(t, "which")]
				}
				at, found := slices.BinarySearchFunc(n, e, entry.compare)
				if got := s.Remove(e); got != found {
					t.Fatalf("Remove(%v) = %v", e, got)
				}
				if found {
					n = slices.Delete(n, at, at+1)
				}
			},
			"pop many": func(t *rapid.T) {
				for range min(len(n), rapid.IntRange(0, 700).Draw(t, "many")) {
					if e, ok := s.First(); !ok || e != n[0] {
						t.Fatalf("First() = %v, %v; want %v", e, ok, n[0])
					}
					s.Remove(n[0])
					n = n[1:]
				}
			},
			"": func(t *rapid.T) {
				if s.Len() != len(n) {
					t.Fatalf("Len() = %d, want %d", s.Len(), len(n))
				}
				e := drawEntry(t)
				at, found := slices.BinarySearchFunc(n, e, entry.compare)
				if s.Rank(e) != at {
					t.Fatalf("Rank(%v) = %d, want %d", e, s.Rank(e), at)
				}
				if found {
					at++
				}
				if got := slices.Collect(s.From(e)); !slices.Equal(got, n[at:]) {
					t.Fatalf("From(%v) gives %d entries, want %d", e, len(got), len(n)-at)
				}
				if len(n) > 0 {
					i := rapid.IntRange(0, len(n)-1).Draw(t, "rank")
					if s.At(i) != n[i] {
						t.Fatalf("At(%d) = %v, want %v", i, s.At(i), n[i])
					}
				}
			},
		})
	})
}

func (n naive) insert(s *sorted, e entry) naive {
	at, found := slices.BinarySearchFunc(n, e, entry.compare)
	if found {
		return n
	}
	s.Insert(e)
	return slices.Insert(n, at, e)
}

func drawEntry(t *rapid.T) entry {
	return entry{rapid.Int64Range(0, 9000).Draw(t, "score"), queue.Visitor(rapid.SampledFrom([]string{"a", "b", "visitor-of-batch", "z"}).Draw(t, "visitor"))}
}

func BenchmarkSortedOfAMillion(b *testing.B) {
	const n = 1_000_000
	var s sorted
	names := make([]queue.Visitor, n)
	for i := range names {
		names[i] = queue.Visitor(fmt.Sprintf("visitor-%08d", i))
		s.Insert(entry{int64(i), names[i]})
	}
	b.Run("rank", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			k := i * 7919 % n
			s.Rank(entry{int64(k), names[k]})
		}
	})
	b.Run("remove and insert", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			k := i * 7919 % n
			s.Remove(entry{int64(k), names[k]})
			s.Insert(entry{int64(k), names[k]})
		}
	})
	b.Run("pop and join", func(b *testing.B) {
		for next := int64(n); b.Loop(); next++ {
			e, _ := s.First()
			s.Remove(e)
			s.Insert(entry{next, e.visitor})
		}
	})
}
