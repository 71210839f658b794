package scheduler

import (
	"context"
	"hash/fnv"
	"sync"
	"time"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/queue"
)

const (
	// mostMoved is the most visitors of one step, which bounds its time in the store to two milliseconds, also where
	// the line is long and the processor's caches hold nothing of it.
	mostMoved = 150
	// mostSteps bounds the steps of one item in one tick, so that no item keeps the others waiting.
	mostSteps = 100
	// batch is how many items go to the store in one call.
	batch = 100
	// mostCalls is how many of these are under way at a time: one is read while the store works on the next. More would
	// only wait there, and run into the client's deadline.
	mostCalls = 2
	// idleAfter is how long a line must have been empty for its item to be stepped each second only.
	idleAfter = 10 * time.Second
	idlePace  = time.Second
	// settleFor is when an item whose step failed is tried again.
	settleFor = 500 * time.Millisecond
)

// stepper steps many items in one call; errs[i] is the error of items[i].
type stepper interface {
	StepMany(ctx context.Context, items []queue.Item, orders []queue.StepOrder) (reports []queue.StepReport, errs []error)
}

// MoverOptions configures a Mover. Line, Board, Limits and Share are required.
type MoverOptions struct {
	Line   stepper
	Board  *queue.Board
	Limits func(queue.Item) queue.Limits
	Share  *Share
	Clock  clock.Clock   // the store's clock; nil = the system clock
	Tick   time.Duration // between two steps of an item, 50 ms to 10 s; 0 = 250 ms
	// Did, where set, is told of each step; lag is how much later than due it ran.
	Did func(report queue.StepReport, lag time.Duration)
	// Failed, where set, is told of each step that failed.
	Failed func(item queue.Item, err error)
}

// Mover steps the items of this node's share: it lets people in, ends what is over, and turns queues off. Any number of
// movers may step one item.
type Mover struct {
	o      MoverOptions
	agenda *agenda

	mu    sync.Mutex
	empty map[queue.Item]time.Time // since when nobody has waited
	paces map[queue.Item]paced     // of items at a low rate
}

// paced is when somebody went in last, and at what rate.
type paced struct {
	inflow float64
	at     time.Time
}

// NewMover returns a mover that knows of no item yet: Wake tells it.
func NewMover(o MoverOptions) *Mover {
	if o.Tick == 0 {
		o.Tick = 250 * time.Millisecond
	}
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Did == nil {
		o.Did = func(queue.StepReport, time.Duration) {}
	}
	if o.Failed == nil {
		o.Failed = func(queue.Item, error) {}
	}
	return &Mover{o: o, agenda: newAgenda(), empty: map[queue.Item]time.Time{}, paces: map[queue.Item]paced{}}
}

// Wake makes an item due at once: its queue went on, or something about it changed.
func (m *Mover) Wake(item queue.Item) { m.agenda.put(item, m.o.Clock.Now(), true) }

// WakeAll makes all items due at once: the nodes or the settings changed.
func (m *Mover) WakeAll() {
	for _, h := range m.o.Board.All() {
		if h.On() {
			m.agenda.put(h.Item, m.o.Clock.Now(), true)
		}
	}
}

// Phase is how often Tick is to be called: several times between two steps of one item, so that many items do not all
// come at once.
func (m *Mover) Phase() time.Duration { return max(m.o.Tick/10, 5*time.Millisecond) }

// Tick steps the items of this node's share that are due, and those that became due while it did so for longer than a
// phase: they need not wait for the next.
func (m *Mover) Tick(ctx context.Context) {
	for ctx.Err() == nil {
		now := m.o.Clock.Now()
		m.step(ctx, now)
		if m.o.Clock.Now().Sub(now) < m.Phase() {
			return
		}
	}
}

// step steps the items that are due by now. It returns when all have been stepped.
func (m *Mover) step(ctx context.Context, now time.Time) {
	items, dues := m.agenda.take(now, settleFor)
	var mine []task
	for i, item := range items {
		switch {
		case !m.o.Board.Get(item).On():
			m.forget(item)
		case !m.o.Share.Mine(item):
			m.agenda.put(item, now.Add(idlePace), false)
		default:
			mine = append(mine, task{item: item, due: dues[i], left: mostSteps})
		}
	}
	var wait sync.WaitGroup
	way := make(chan struct{}, mostCalls)
	for len(mine) > 0 {
		n := min(len(mine), batch)
		part := mine[:n]
		mine = mine[n:]
		way <- struct{}{}
		wait.Go(func() {
			defer func() { <-way }()
			m.steps(ctx, part)
		})
	}
	wait.Wait()
}

// task is an item to step.
type task struct {
	item queue.Item
	due  time.Time
	left int // steps that it may still take in this tick
}

// steps steps a batch of items, and again those with more to do.
func (m *Mover) steps(ctx context.Context, tasks []task) {
	for len(tasks) > 0 && ctx.Err() == nil {
		items := make([]queue.Item, len(tasks))
		orders := make([]queue.StepOrder, len(tasks))
		for i, t := range tasks {
			items[i] = t.item
			orders[i] = queue.StepOrder{Limits: m.o.Limits(t.item), Most: mostMoved, TickMS: m.o.Tick.Milliseconds()}
		}
		reports, errs := m.o.Line.StepMany(ctx, items, orders)
		var again []task
		for i, t := range tasks {
			if errs[i] != nil {
				m.o.Failed(t.item, errs[i])
				continue
			}
			if m.took(t, reports[i]) {
				again = append(again, task{item: t.item, due: t.due, left: t.left - 1})
			}
		}
		tasks = again
	}
}

// took plans the item's next step, and reports whether it is to be stepped again at once.
func (m *Mover) took(t task, r queue.StepReport) bool {
	now := m.o.Clock.Now()
	if t.left == mostSteps {
		m.o.Did(r, max(0, now.Sub(t.due)))
	} else {
		m.o.Did(r, 0)
	}
	if r.Missing || !r.Header.On() {
		m.forget(t.item)
		return false
	}
	if r.More && t.left > 1 {
		return true
	}
	m.agenda.put(t.item, m.next(t, r, now), false)
	return false
}

// next says when the item is due again: at one of its own turns, and not before there is something to do.
func (m *Mover) next(t task, r queue.StepReport, now time.Time) time.Time {
	pace := m.o.Tick
	from := now
	if from.Before(t.due.Add(time.Millisecond)) {
		from = t.due.Add(time.Millisecond)
	}
	if due := time.UnixMilli(r.DueMS); r.Counts.Waiting > 0 && due.After(from) {
		from = due
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Counts.Waiting > 0 {
		delete(m.empty, t.item)
		return m.turn(t, r, now, onGrid(t.item, from, pace))
	}
	if since, known := m.empty[t.item]; !known {
		m.empty[t.item] = now
	} else if now.Sub(since) > idleAfter {
		pace = max(idlePace, m.o.Tick)
	}
	return onGrid(t.item, from, pace)
}

// turn puts the next turn of an item at a low rate off, a tick at a time, until people go in at turns that the item has
// to itself in a whole pace: many items whose people became due at one instant would else come at one instant ever
// after. at is the first of its turns when something is due. The first person after a change goes in then, each further
// one at most two ticks later after the one before than the rate says, and nobody more than a pace after being due, which
// the bucket holds.
func (m *Mover) turn(t task, r queue.StepReport, now, at time.Time) time.Time {
	pace := paceAt(r.Header.Inflow, m.o.Tick)
	if pace == m.o.Tick {
		delete(m.paces, t.item)
		return at
	}
	last := m.paces[t.item]
	if len(r.Admitted) > 0 {
		last = paced{r.Header.Inflow, onGrid(t.item, t.due, m.o.Tick)}
		m.paces[t.item] = last
	}
	switch {
	case last.inflow != r.Header.Inflow:
		return at // nobody has gone in at this rate yet
	case r.DueMS-now.UnixMilli() >= time.Second.Milliseconds():
		return onGrid(t.item, now.Add(time.Millisecond), pace) // nothing is due for a second
	}
	latest := at.Add(pace - m.o.Tick)
	if next := last.at.Add(time.Duration(float64(time.Second) / last.inflow).Truncate(m.o.Tick)); next.After(at) {
		at = next
	}
	if !onGrid(t.item, at, pace).Equal(at) {
		at = at.Add(m.o.Tick)
	}
	if at.After(latest) {
		return latest
	}
	return at
}

// paceAt is the time between two people who go in at an inflow, in whole ticks: one tick at least, and a second at most,
// which is what the bucket holds.
func paceAt(inflow float64, tick time.Duration) time.Duration {
	ticks := time.Duration(float64(time.Second)/max(1, inflow)) / tick
	return max(1, ticks) * tick
}

// onGrid is the first instant from `from` on at which the item has its turn, once in every pace. Each item has turns
// of its own, so that many that went on, or changed, at one instant do not all come at one instant ever after.
func onGrid(item queue.Item, from time.Time, pace time.Duration) time.Time {
	h := fnv.New64a()
	h.Write([]byte(item))
	phase := int64(mix(h.Sum64()) % uint64(pace))
	late := (from.UnixNano() - phase) % int64(pace)
	if late == 0 {
		return from
	}
	return from.Add(pace - time.Duration(late))
}

func (m *Mover) forget(item queue.Item) {
	m.agenda.drop(item)
	m.mu.Lock()
	delete(m.empty, item)
	delete(m.paces, item)
	m.mu.Unlock()
}
