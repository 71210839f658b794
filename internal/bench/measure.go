package bench

import (
	"cmp"
	"slices"
	"time"
)

// admissions gives the instants of all admissions, oldest first.
func admissions(people []seen) []time.Time {
	var at []time.Time
	for _, s := range people {
		if !s.admitted.IsZero() {
			at = append(at, s.admitted)
		}
	}
	slices.SortFunc(at, time.Time.Compare)
	return at
}

// within counts the instants in [from, to).
func within(at []time.Time, from, to time.Time) int {
	low, _ := slices.BinarySearchFunc(at, from, time.Time.Compare)
	high, _ := slices.BinarySearchFunc(at, to, time.Time.Compare)
	return high - low
}

// excess is by how many people the admissions in [from, to) go beyond perSecond × span, in the span where they do so
// most. Of all spans the worst begins and ends at an admission, and its count less its due is a difference of two
// values of i - perSecond × t, so one pass is enough.
func excess(at []time.Time, perSecond float64, from, to time.Time) float64 {
	var worst, least float64
	n := 0.0
	for _, t := range at {
		if t.Before(from) || !t.Before(to) {
			continue
		}
		due := perSecond * t.Sub(from).Seconds()
		if n == 0 || n-due < least {
			least = n - due // the span may begin at this one
		}
		n++
		worst = max(worst, n-due-least)
	}
	return worst
}

// overtaken is the longest time after which somebody was still told to wait although somebody who had joined later
// was known to be let in. Those who joined in the same millisecond have no order here.
func overtaken(people []seen) time.Duration {
	order := slices.Clone(people)
	slices.SortFunc(order, func(a, b seen) int { return cmp.Compare(b.joined.UnixMilli(), a.joined.UnixMilli()) }) // the last first
	var worst time.Duration
	var later time.Time // earliest admission among those who joined later
	for i := 0; i < len(order); {
		same := i
		earliest := later
		for ; same < len(order) && order[same].joined.UnixMilli() == order[i].joined.UnixMilli(); same++ {
			s := order[same]
			if !later.IsZero() {
				worst = max(worst, s.lastWait.Sub(later))
			}
			if !s.admitted.IsZero() && (earliest.IsZero() || s.admitted.Before(earliest)) {
				earliest = s.admitted
			}
		}
		later, i = earliest, same
	}
	return worst
}
