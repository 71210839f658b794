package live

import (
	"time"

	"github.com/sluicehq/sluice/queue"
)

// Span is how far back samples go.
const Span = time.Hour

// The rings of an hour: fine for what an operator does now, coarse for the rest. 180 samples of 32 bytes an item are
// 60 MB for 10,000 items.
const (
	fineEvery, fineMost     = 5 * time.Second, 60
	coarseEvery, coarseMost = 30 * time.Second, 120
)

// Sample is one point of an item's charts.
type Sample struct {
	AtMS     int64   // unix milliseconds, the machine's clock
	Waiting  uint32  // of a coarse sample: the most in its span
	Running  uint32  // likewise
	Set      float32 // inflow set, people per second
	In       float32 // people let in per second since the sample before; -1 = not known
	Requests float32 // traffic in the trigger's window; -1 = not known
	State    queue.State
}

// hour keeps the samples of one item's last hour.
type hour struct {
	fine, coarse ring
	admitted     int64 // at the last sample
	generation   queue.Generation
	// The people let in, and the maxima, since the last coarse sample.
	spanFrom int64
	spanIn   float64
	most     Sample
}

// add takes in a reading; one that comes sooner than the pace is left out.
func (h *hour) add(r Reading) {
	now := r.At.UnixMilli()
	last, ok := h.fine.last()
	if ok && now-last.AtMS < fineEvery.Milliseconds()*4/5 {
		return
	}
	s := Sample{
		AtMS: now, Waiting: small(r.Counts.Waiting), Running: small(r.Counts.Running), Set: float32(r.Header.Inflow), In: -1,
		Requests: float32(r.Requests), State: r.Header.State,
	}
	if !r.Header.On() {
		s.Set = 0
	}
	if ok && h.generation == r.Header.Generation && r.Counts.Admitted >= h.admitted {
		in := float64(r.Counts.Admitted - h.admitted)
		s.In = float32(in * 1000 / float64(now-last.AtMS))
		h.spanIn += in
	}
	h.generation, h.admitted = r.Header.Generation, r.Counts.Admitted
	h.fine.add(s, fineMost)
	h.thin(s)
}

// thin makes coarse samples of fine ones: the most of what stands, the mean of what flows.
func (h *hour) thin(s Sample) {
	if h.spanFrom == 0 {
		h.spanFrom, h.most = s.AtMS, s
		h.coarse.add(s, coarseMost)
		return
	}
	h.most = Sample{
		AtMS: s.AtMS, Waiting: max(h.most.Waiting, s.Waiting), Running: max(h.most.Running, s.Running), Set: s.Set, In: -1,
		Requests: max(h.most.Requests, s.Requests), State: s.State,
	}
	if s.AtMS-h.spanFrom < coarseEvery.Milliseconds() {
		return
	}
	if s.In >= 0 {
		h.most.In = float32(h.spanIn * 1000 / float64(s.AtMS-h.spanFrom))
	}
	h.coarse.add(h.most, coarseMost)
	h.spanFrom, h.spanIn, h.most = s.AtMS, 0, Sample{AtMS: s.AtMS}
}

// samples gives the coarse ones up to where the fine ones begin, then these.
func (h *hour) samples(now time.Time) []Sample {
	from := now.Add(-Span).UnixMilli()
	fine := h.fine.all()
	out := make([]Sample, 0, len(fine)+len(h.coarse.s))
	for _, s := range h.coarse.all() {
		if s.AtMS >= from && (len(fine) == 0 || s.AtMS < fine[0].AtMS) {
			out = append(out, s)
		}
	}
	for _, s := range fine {
		if s.AtMS >= from {
			out = append(out, s)
		}
	}
	return out
}

func small(n int64) uint32 { return uint32(min(max(0, n), 1<<32-1)) }

// ring keeps the newest samples; it grows as they come.
type ring struct {
	s    []Sample
	next int
}

func (r *ring) add(s Sample, most int) {
	if len(r.s) < most {
		r.s = append(r.s, s)
		return
	}
	r.s[r.next] = s
	r.next = (r.next + 1) % most
}

func (r *ring) last() (Sample, bool) {
	if len(r.s) == 0 {
		return Sample{}, false
	}
	return r.s[(r.next+len(r.s)-1)%len(r.s)], true
}

func (r *ring) all() []Sample {
	out := make([]Sample, 0, len(r.s))
	return append(append(out, r.s[r.next:]...), r.s[:r.next]...)
}
