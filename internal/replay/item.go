package replay

import (
	"hash/fnv"
	"slices"

	"github.com/sluicehq/sluice/detector"
	"github.com/sluicehq/sluice/queue"
)

// item is one item of the trace: its traffic, its people as they know themselves, and what came of it.
type item struct {
	id     queue.Item
	number uint32
	policy queue.Policy
	// limits are the policy's, but for two numbers. A session is shorter by the leeway in which the line accepts a pass
	// past its end, which allows for clocks that differ: here they do not. And nobody is ever silent: who leaves, leaves.
	limits    queue.Limits
	sessionMS int64

	window   detector.Window
	arrivals *detector.Window // nil where no trigger asks for newcomers
	active   *actives         // nil where no trigger asks for active users
	peak     float64

	// visitors says until when a visitor is inside; inLine for those who wait. Others are forgotten now and then,
	// unless newcomers are counted.
	visitors map[uint32]int64
	sweepAt  int
	leaving  map[uint32]bool // in line, and will not ask again
	leavers  []leaver        // the same, next to leave first

	on         bool
	generation queue.Generation
	waiting    int64
	emptySince int64 // as the line sees it; 0 = somebody waits
	lowSince   int64 // as the line sees it; 0 = the traffic is not low
	dueMS      int64 // never, or when something happens by itself

	waits       []int64 // ms, of all admissions
	activations []Activation
}

type leaver struct {
	visitor uint32
	atMS    int64
}

const inLine = -1

func newItem(id queue.Item, number uint32, policy queue.Policy) *item {
	it := &item{
		id: id, number: number, policy: policy, limits: policy.Limits(1), sessionMS: policy.SessionSeconds * 1000,
		visitors: map[uint32]int64{}, sweepAt: 64, leaving: map[uint32]bool{}, dueMS: never,
	}
	it.limits.SessionMS -= queue.PassLeewayMS
	it.limits.AbandonMS = never
	it.window = detector.NewWindow(it.limits.Trigger.WindowMS)
	if it.limits.Trigger.NewVisitorsPerMinute > 0 {
		w := detector.NewWindow(detector.NewcomersMS)
		it.arrivals = &w
	}
	if it.limits.Trigger.ActiveUsers > 0 {
		it.active = &actives{last: map[uint32]int64{}, sessionMS: it.sessionMS}
	}
	return it
}

// count counts one request and gives the measures with it.
func (it *item) count(v uint32, nowMS int64) detector.Measures {
	it.window.Add(nowMS, 1)
	if it.arrivals != nil {
		if _, known := it.visitors[v]; !known {
			it.arrivals.Add(nowMS, 1)
		}
	}
	if it.active != nil {
		it.active.see(v, nowMS)
	}
	m := it.measures(nowMS)
	it.peak = max(it.peak, m.Requests)
	return m
}

func (it *item) measures(nowMS int64) detector.Measures {
	m := detector.Measures{Requests: it.window.Sum(nowMS)}
	if it.arrivals != nil {
		m.Newcomers = it.arrivals.Sum(nowMS)
	}
	if it.active != nil {
		m.Active = it.active.count(nowMS)
	}
	return m
}

// decide reports whether a queue that is off turns on, and by what.
func (it *item) decide(m detector.Measures) (by string, on bool) {
	switch it.policy.Mode {
	case queue.ModeOff:
		return "", false
	case queue.ModeOn:
		return "mode", true
	}
	return detector.Decide(it.limits.Trigger, m)
}

// lowAt is when every measure is low if nothing more comes; false where that is never. Where active users hold it up it
// is when the next of them goes.
func (it *item) lowAt(nowMS int64) (int64, bool) {
	t, ratio := it.limits.Trigger, it.limits.ReleaseRatio
	at, ok := it.window.FallsBelow(float64(t.Requests)*ratio, nowMS)
	if it.arrivals != nil && ok {
		var news int64
		news, ok = it.arrivals.FallsBelow(float64(t.NewVisitorsPerMinute)*ratio, nowMS)
		at = max(at, news)
	}
	if it.active != nil && ok && it.active.count(nowMS) >= float64(t.ActiveUsers)*ratio {
		var next int64
		next, ok = it.active.nextEnd()
		at = max(at, next)
	}
	return at, ok
}

// enter notes a visitor who passed at now: inside for a session.
func (it *item) enter(v uint32, nowMS int64) {
	it.visitors[v] = nowMS + it.sessionMS
	if len(it.visitors) < it.sweepAt || it.arrivals != nil {
		return
	}
	for w, until := range it.visitors {
		if until != inLine && until <= nowMS {
			delete(it.visitors, w)
		}
	}
	it.sweepAt = max(64, 2*len(it.visitors))
}

// inside lists the visitors inside, in the order of their numbers.
func (it *item) inside(nowMS int64) []uint32 {
	var in []uint32
	for v, until := range it.visitors {
		if until > nowMS {
			in = append(in, v)
		}
	}
	slices.Sort(in)
	return in
}

// beat is the sign of life of a visitor who is inside until an instant.
func (it *item) beat(v queue.Visitor, untilMS int64) queue.Beat {
	return queue.Beat{
		Kind: queue.Renew, Visitor: v, Generation: it.generation,
		IssuedMS: untilMS - it.sessionMS, EndsMS: untilMS - queue.PassLeewayMS,
	}
}

// drawn reports whether a visitor is of a share of the people, the same in every run.
func (it *item) drawn(what, visitor string, share float64) bool {
	if share <= 0 {
		return false
	}
	h := fnv.New64a()
	for _, s := range []string{what, string(it.id), visitor} {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	h.Write([]byte{byte(len(it.activations)), byte(len(it.activations) >> 8)})
	x := h.Sum64()
	x ^= x >> 33 // FNV's upper bits are weak in its last bytes
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x>>11)/(1<<53) < share
}

// actives counts who was seen within the session.
type actives struct {
	sessionMS int64
	last      map[uint32]int64
	seen      []sighting // in order of time; the older ones of a visitor are stale
	head      int
}

type sighting struct {
	visitor uint32
	ms      int64
}

func (a *actives) see(v uint32, nowMS int64) {
	if last, known := a.last[v]; !known || last != nowMS {
		a.last[v] = nowMS
		a.seen = append(a.seen, sighting{v, nowMS})
	}
}

func (a *actives) count(nowMS int64) float64 {
	for a.head < len(a.seen) && a.seen[a.head].ms+a.sessionMS <= nowMS {
		if s := a.seen[a.head]; a.last[s.visitor] == s.ms {
			delete(a.last, s.visitor)
		}
		a.head++
	}
	if a.head > 1024 && a.head > len(a.seen)/2 {
		a.seen = slices.Delete(a.seen, 0, a.head)
		a.head = 0
	}
	return float64(len(a.last))
}

// nextEnd is when the next sighting is a session old.
func (a *actives) nextEnd() (int64, bool) {
	if a.head == len(a.seen) {
		return 0, false
	}
	return a.seen[a.head].ms + a.sessionMS, true
}
