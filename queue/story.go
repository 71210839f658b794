package queue

import "math"

// Story is what a generation has been like, beside its books.
type Story struct {
	Trip        Trip
	PeakWaiting int64 // most in waiting at once
	AtOnce      int64 // let in without waiting
	LongestMS   int64 // longest wait of those let in; who was drawn by lot has no known one
	Waits       Waits // of those let in; told of a generation that has ended
}

// Trip is what the detector saw when it turned a queue on; the zero value where something else did, or it is not known.
type Trip struct {
	Measure float64 `json:"measure"` // of the trigger that Header.By names
	Trigger int64   `json:"trigger"` // the number that it reached
}

// Ended is what is left to tell of a generation that has ended.
type Ended struct {
	Counts Counts
	Story  Story
}

// Waits counts waits by length. Bucket 0 is below 128 ms; from there on four buckets share each doubling, so that a
// quantile is right within a tenth or so. The last holds whatever is longer than three days. It is as long as needed.
type Waits []uint32

const (
	waitsFrom   = 128 // ms, 2^7
	waitBuckets = 86
)

// WaitBucket gives the bucket of a wait. It is exact in floating point, so that a store's script and this program agree.
func WaitBucket(ms int64) int {
	if ms < waitsFrom {
		return 0
	}
	fraction, exponent := math.Frexp(float64(ms))
	return min((exponent-8)*4+int((fraction-0.5)*8)+1, waitBuckets-1)
}

// bounds are those of a bucket in ms: from low on, below high.
func bounds(bucket int) (low, high float64) {
	if bucket == 0 {
		return 0, waitsFrom
	}
	octave, part := (bucket-1)/4, (bucket-1)%4
	start := math.Ldexp(waitsFrom, octave)
	return start + start*float64(part)/4, start + start*float64(part+1)/4
}

// Add counts a wait.
func (w *Waits) Add(ms int64) {
	b := WaitBucket(ms)
	for len(*w) <= b {
		*w = append(*w, 0)
	}
	(*w)[b]++
}

// MedianMS is the median wait of those let in; false where nobody was whose wait is known.
func (s Story) MedianMS() (int64, bool) {
	total := s.AtOnce
	for _, n := range s.Waits {
		total += int64(n)
	}
	if total == 0 {
		return 0, false
	}
	rank := float64(total) / 2
	before := float64(s.AtOnce)
	if rank <= before {
		return 0, true
	}
	for b, n := range s.Waits {
		if rank <= before+float64(n) {
			low, high := bounds(b)
			return min(int64(low+(high-low)*(rank-before)/float64(n)), s.LongestMS), true
		}
		before += float64(n)
	}
	return s.LongestMS, true // not reached: the last bucket holds the last rank
}
