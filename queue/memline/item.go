package memline

import (
	"sync"

	"github.com/sluicehq/sluice/queue"
)

// item is all that is kept of one item. See the table in docs/line.md.
type item struct {
	mu   sync.Mutex
	gone bool // no longer in the shard

	header   queue.Header
	limits   queue.Limits
	books    queue.Counts // Reserved as set; Waiting and Running are those of the sets, filled in by counts
	story    queue.Story
	waiting  map[queue.Visitor]place
	order    sorted // of waiting, by score
	running  map[queue.Visitor]*stay
	ends     sorted // of running, by deadline
	marks    marks
	keys     keys
	offSince int64
	disarmed bool // turned off by hand, and the traffic has not been low since

	last          int64 // the highest score given
	tokens        float64
	settledUS     int64
	spare         float64 // see Line
	debt          int64
	holdMS        int64
	reservedUntil int64

	lost       int64     // ms that were no time: live time is now less lost; < 0 once the clock was set back
	steppedMS  int64     // the last step of a mover with a pace; 0 = none yet
	tickMS     int64     // that mover's pace
	measured   [2]sample // of the people let in, older first
	emptySince int64     // 0 = somebody waits
	lowSince   int64     // 0 = there is traffic
	sweptMS    int64
	swept      entry // the last one looked at for silence; none = a new round begins
	sweepSize  int   // of the line when the round began
}

// place is one visitor in waiting.
type place struct {
	score int64
	heard int64 // live second
}

// stay is one visitor in running.
type stay struct {
	deadline  int64 // live ms
	admission queue.Admission
}

// lostAt is how much of the time until now was no time: what the steps have found lost, and a silence of the movers that
// still goes on. A clock that is set back gives time back.
func (it *item) lostAt(now instant) int64 {
	if gap := now.ms - it.steppedMS; it.steppedMS > 0 && (gap > 2*it.tickMS+2000 || gap < -setBackMS) {
		return it.lost + gap - it.tickMS
	}
	return it.lost
}

// setBackMS is how far a clock may be behind what it said before; by more it has been set back.
const setBackMS = 1000

// setBack brings instants that are still to come, by a clock that has been set back, near enough not to stop anything.
func (it *item) setBack(now instant) {
	it.holdMS = min(it.holdMS, now.ms+leastHoldMS)
	it.reservedUntil = min(it.reservedUntil, now.ms+it.limits.SessionMS)
	for _, since := range []*int64{&it.emptySince, &it.lowSince, &it.sweptMS, &it.marks.turnedMS} {
		*since = min(*since, now.ms)
	}
	it.measured = [2]sample{}
}

func (it *item) live(now instant) int64 { return now.ms - it.lostAt(now) }

// sample is how many had been let in at an instant; the zero value is none.
type sample struct{ ms, admitted int64 }

// measure takes a sample each ten seconds.
func (it *item) measure(now instant) {
	s := sample{now.ms, it.books.Admitted}
	switch newest := it.measured[1]; {
	case newest.ms == 0:
		it.measured[1] = s
	case now.ms-newest.ms >= 10_000:
		it.measured = [2]sample{newest, s}
	}
}

// inPerSecond is how many are let in per second, over the last ten to twenty seconds; -1 = not known yet.
func (it *item) inPerSecond(now instant) float64 {
	from := it.measured[0]
	if from.ms == 0 {
		from = it.measured[1]
	}
	if from.ms == 0 || now.ms-from.ms < 1000 {
		return -1
	}
	return float64((it.books.Admitted-from.admitted)*1000) / float64(now.ms-from.ms)
}

func (it *item) rate() float64 {
	if it.header.Override != nil {
		return *it.header.Override
	}
	return it.limits.Inflow
}

// settle brings the bucket up to now at the rate in force. What time a clock that was set back has told twice is told once.
func (it *item) settle(now instant) {
	switch {
	case it.header.State != queue.Open:
	case now.us > it.settledUS:
		it.tokens = it.tokensAt(now)
		it.settledUS = now.us
	case it.settledUS-now.us > 1000*setBackMS:
		it.settledUS = now.us
	}
}

// tokensAt is what the bucket of an open queue holds at now.
func (it *item) tokensAt(now instant) float64 {
	rate := it.rate()
	gained := float64(rate*float64(now.us-it.settledUS)) / 1e6
	return min(it.capacity(), it.tokens+gained)
}

// capacity is the most that the bucket holds: one second's worth and one person, because with less fractions would be
// lost between steps; where steps are punctual, one second's worth.
func (it *item) capacity() float64 { return max(1, it.rate()+it.spare) }

// wholeTokens is how many people the bucket lets in. Sums of fractions end a hair below the whole number.
func (it *item) wholeTokens() int64 {
	if it.rate() <= 0 {
		return 0
	}
	return int64(it.tokens + 1e-9)
}

func (it *item) spend(n int64) { it.tokens = max(0, it.tokens-float64(n)) }

// setRate notes the inflow in force after it may have changed, and reports whether it has.
func (it *item) setRate() bool {
	rate := it.rate()
	it.tokens = min(it.tokens, it.capacity())
	changed := it.header.Inflow != rate
	it.header.Inflow = rate
	return changed
}

// take replaces the limits by newer ones.
func (it *item) take(l queue.Limits, now instant) {
	if l.Version <= it.limits.Version {
		return
	}
	it.settle(now)
	it.limits = l
	if it.setRate() {
		it.changed(now)
	}
}

// changed gives the header a new version.
func (it *item) changed(now instant) { it.header.Version = max(it.header.Version+1, now.ms) }

// held reports whether nobody goes in for now: after a loss, or by the switch over all items.
func (it *item) held(now instant) bool { return now.ms < it.holdMS || it.limits.Hold }

// reserved is how many people are known to be inside but not in running.
func (it *item) reserved(now instant) int64 {
	if now.ms >= it.reservedUntil {
		return 0
	}
	return it.books.Reserved
}

// room is how many more may come into running.
func (it *item) room(now instant) int64 {
	if it.limits.MaxActive == 0 {
		return queue.MaxNumber
	}
	return max(0, it.limits.MaxActive-int64(len(it.running))-it.reserved(now))
}

func (it *item) counts(now instant) queue.Counts {
	c := it.books
	c.Waiting, c.Running, c.Reserved = int64(len(it.waiting)), int64(len(it.running)), it.reserved(now)
	return c
}

// lineUp puts a visitor into waiting.
func (it *item) lineUp(v queue.Visitor, score int64, now instant) {
	if it.waiting == nil {
		it.waiting = map[queue.Visitor]place{}
	}
	it.waiting[v] = place{score: score, heard: it.live(now) / 1000}
	it.order.Insert(entry{score, v})
	it.emptySince = 0
	it.story.PeakWaiting = max(it.story.PeakWaiting, int64(len(it.waiting)))
}

// leaveLine takes a visitor out of waiting; the caller keeps the books.
func (it *item) leaveLine(v queue.Visitor, p place) {
	delete(it.waiting, v)
	it.order.Remove(entry{p.score, v})
}

// silent reports whether somebody in waiting has not been heard of for too long.
func (it *item) silent(v queue.Visitor, now instant) bool {
	return it.waiting[v].heard < (it.live(now)-it.limits.AbandonMS)/1000
}

// enter puts a visitor into running until a deadline.
func (it *item) enter(v queue.Visitor, a queue.Admission, deadline int64) *stay {
	if it.running == nil {
		it.running = map[queue.Visitor]*stay{}
	}
	s := &stay{deadline: deadline, admission: a}
	it.running[v] = s
	it.ends.Insert(entry{deadline, v})
	return s
}

// extend moves the deadline of a stay.
func (it *item) extend(v queue.Visitor, s *stay, deadline int64) {
	it.ends.Remove(entry{s.deadline, v})
	s.deadline = deadline
	it.ends.Insert(entry{deadline, v})
}

// exit takes a visitor out of running; the caller keeps the books.
func (it *item) exit(v queue.Visitor, s *stay) {
	delete(it.running, v)
	it.ends.Remove(entry{s.deadline, v})
}

// expire ends a stay whose deadline has passed, and reports whether it was never claimed.
func (it *item) expire(v queue.Visitor, s *stay) (noShow bool) {
	it.exit(v, s)
	if s.admission.ClaimedMS == 0 {
		it.books.NoShow++
		return true
	}
	it.books.Finished++
	return false
}

// showUp counts the reserved room down: one of those known to be inside has come into running.
func (it *item) showUp() {
	it.books.Reserved = max(0, it.books.Reserved-1)
}

// waited notes how long somebody who goes in has waited; who was drawn by lot tells nothing of it.
func (it *item) waited(score int64, now instant) {
	if score < queue.MaxLot {
		return
	}
	ms := max(0, now.ms-score/1000)
	it.story.LongestMS = max(it.story.LongestMS, ms)
	it.story.Waits.Add(ms)
}

// ended is what is left to tell of a generation that has ended just now.
func (it *item) ended(now instant) queue.Ended {
	return queue.Ended{Counts: it.counts(now), Story: it.story}
}

// empty clears both sets.
func (it *item) empty() {
	it.waiting, it.order = nil, sorted{}
	it.running, it.ends = nil, sorted{}
	it.swept, it.sweptMS = entry{}, 0
}

// hidden reports whether positions are not shown: a draw is under way.
func (it *item) hidden() bool { return it.header.State == queue.Prequeue && it.limits.Random }

// position is the rank of a place, 1 = next; 0 where it is hidden.
func (it *item) position(v queue.Visitor, p place) int64 {
	if it.hidden() {
		return 0
	}
	return int64(it.order.Rank(entry{p.score, v})) + 1
}
