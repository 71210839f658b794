package sale

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sluicehq/sluice/queue"
)

// Calendar finds the sale that is on for an item. The sales in it do not change; make a new one on a change.
type Calendar struct {
	byID    map[string]*Plan
	all     []*Plan // by id
	broken  error
	covered *queue.Patterns[bool]

	table atomic.Pointer[table]
	mu    sync.Mutex // one new table at a time
	known []known    // of all, under mu
}

// Active is a sale that is on.
type Active struct {
	*Plan
	Occurrence
}

// table is who is on from an instant until anything changes.
type table struct {
	fromMS, untilMS int64
	active          []*Active
	byItem          *queue.Patterns[*Active] // nil = none
}

// known is the occurrence of a plan that is not over from an instant until its end.
type known struct {
	fromMS int64
	o      Occurrence
	ok     bool
}

// NewCalendar makes a calendar. Sales that cannot be read are left out, and told by Broken.
func NewCalendar(sales []Sale) *Calendar {
	byID := map[string]*Plan{}
	var errs []error
	for _, s := range sales {
		p, err := s.Plan()
		if err != nil {
			errs = append(errs, fmt.Errorf("sale %s: %w", s.ID, err))
			continue
		}
		byID[s.ID] = p
	}
	c := calendarOf(byID)
	c.broken = errors.Join(errs...)
	return c
}

// With gives the calendar as it would be with a plan in place of the one of an id; nil = without that one.
func (c *Calendar) With(id string, p *Plan) *Calendar {
	byID := maps.Clone(c.byID)
	if delete(byID, id); p != nil {
		byID[id] = p
	}
	return calendarOf(byID)
}

func calendarOf(byID map[string]*Plan) *Calendar {
	c := &Calendar{byID: byID}
	c.all = slices.SortedFunc(maps.Values(c.byID), func(a, b *Plan) int { return cmp.Compare(a.ID, b.ID) })
	c.known = make([]known, len(c.all))
	covered := map[queue.Pattern]bool{}
	for _, p := range c.all {
		covered[p.Item] = true
	}
	c.covered = queue.NewPatterns(covered)
	return c
}

// Broken tells of sales that cannot be read; nil where there are none.
func (c *Calendar) Broken() error { return c.broken }

// Plans lists all, by id.
func (c *Calendar) Plans() []*Plan { return c.all }

// Plan gives the sale of an id; nil where there is none.
func (c *Calendar) Plan(id string) *Plan { return c.byID[id] }

// On gives the sale that is on for an item at an instant (unix ms), nil where none is: of several that match, that of
// the most specific pattern. It costs no more than a look-up until a sale starts or ends.
func (c *Calendar) On(item queue.Item, ms int64) *Active {
	t := c.at(ms)
	if t.byItem == nil {
		return nil
	}
	if a := t.byItem.Find(item); a != nil {
		return *a
	}
	return nil
}

// Active lists the sales that are on at an instant.
func (c *Calendar) Active(ms int64) []*Active { return c.at(ms).active }

// ChangesMS is the first instant after one at which a sale starts or ends.
func (c *Calendar) ChangesMS(ms int64) int64 { return c.at(ms).untilMS }

func (c *Calendar) at(ms int64) *table {
	if t := c.table.Load(); t != nil && t.fromMS <= ms && ms < t.untilMS {
		return t
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.table.Load(); t != nil && t.fromMS <= ms && ms < t.untilMS {
		return t
	}
	t := c.newTable(ms)
	c.table.Store(t)
	return t
}

func (c *Calendar) newTable(ms int64) *table {
	t := &table{fromMS: ms, untilMS: math.MaxInt64}
	for i, p := range c.all {
		k := &c.known[i]
		if k.fromMS == 0 || ms < k.fromMS || k.ok && k.o.over(ms) {
			o, ok := p.At(ms)
			*k = known{fromMS: ms, o: o, ok: ok}
		}
		switch {
		case !k.ok:
			continue
		case k.o.StartMS() > ms:
			t.untilMS = min(t.untilMS, k.o.StartMS())
			continue
		case k.o.EndMS != 0:
			t.untilMS = min(t.untilMS, k.o.EndMS)
		}
		t.active = append(t.active, &Active{p, k.o})
	}
	if len(t.active) == 0 {
		return t
	}
	byPattern := map[queue.Pattern]*Active{}
	for _, a := range t.active {
		if b := byPattern[a.Item]; b == nil || a.StartMS() < b.StartMS() { // overlaps are refused; two that do all the same: first come
			byPattern[a.Item] = a
		}
	}
	t.byItem = queue.NewPatterns(byPattern)
	return t
}

// Next gives the sale that is on for an item at an instant, or else the one that is on next; nil where none will be.
func (c *Calendar) Next(item queue.Item, ms int64) *Active {
	if a := c.On(item, ms); a != nil {
		return a
	}
	var next *Active
	for _, p := range c.all {
		if !p.Item.Match(item) {
			continue
		}
		o, ok := p.At(ms)
		if ok && o.On(ms) { // another one's time, or this would be on
			o, ok = p.Next(o)
		}
		if ok && (next == nil || o.StartMS() < next.StartMS()) {
			next = &Active{p, o}
		}
	}
	return next
}

// ChangedMS gives the last instant up to ms at which what sales plan for the item has changed, or a later one; 0 where no
// sale is of the item. on is the sale that is on for it at ms, nil where none is.
func (c *Calendar) ChangedMS(item queue.Item, on *Active, ms int64) int64 {
	switch {
	case on != nil:
		return max(c.at(ms).fromMS, on.changedMS(ms))
	case len(c.all) == 0 || c.covered.Find(item) == nil:
		return 0
	}
	return c.at(ms).fromMS
}

// changedMS is the last of its steps up to an instant.
func (a *Active) changedMS(ms int64) int64 {
	if ms < a.Occurrence.OpensMS {
		return a.StartMS()
	}
	last := a.Occurrence.OpensMS
	for _, r := range a.Ramp {
		if at := a.Occurrence.OpensMS + r.AfterSeconds*1000; at <= ms {
			last = at
		}
	}
	return last
}

// By names an occurrence in the header of a queue: the name for people, the rest for ByOf.
func (a *Active) By() string { return a.Name + " (" + Mark(a.ID, a.Occurrence.OpensMS) + ")" }

// Mark names the occurrence of a sale that is to open at an instant.
func Mark(id string, opensMS int64) string { return fmt.Sprintf("%s@%d", id, opensMS) }

// ByOf reads what By wrote: which sale, and when its occurrence was to open.
func ByOf(by string) (id string, opensMS int64) {
	at := strings.LastIndexByte(by, '(')
	id, rest, _ := strings.Cut(by[at+1:], "@")
	opensMS, err := strconv.ParseInt(strings.TrimSuffix(rest, ")"), 10, 64)
	if err != nil {
		return "", 0
	}
	return id, opensMS
}

// Marked reports whether a queue is, or was when it was turned off, this occurrence's. Name and settings of the sale may
// have been changed since.
func (a *Active) Marked(h queue.Header) bool {
	if h.Cause != queue.BySale {
		return false
	}
	id, opensMS := ByOf(h.By)
	return id == a.ID && opensMS == a.Occurrence.OpensMS
}

// Start is how the sale turns on a queue that is off: it gathers people before the opening, and opens after it.
func (a *Active) Start(ms int64) queue.SwitchOrder {
	o := queue.SwitchOrder{Action: queue.Activate, Cause: queue.BySale, By: a.By()}
	if ms < a.Occurrence.OpensMS {
		o.Action, o.OpensMS = queue.Gather, a.Occurrence.OpensMS
	}
	return o
}
