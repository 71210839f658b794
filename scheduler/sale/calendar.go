package sale

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sluicehq/sluice/queue"
)

// Calendar finds the sale that is on for an item. The sales in it do not change; make a new one on a change.
type Calendar struct {
	byID   map[string]*Plan
	all    []*Plan // by id
	broken error

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
	c := &Calendar{byID: map[string]*Plan{}}
	var errs []error
	for _, s := range sales {
		p, err := s.Plan()
		if err != nil {
			errs = append(errs, fmt.Errorf("sale %s: %w", s.ID, err))
			continue
		}
		c.byID[s.ID] = p
	}
	c.all = slices.SortedFunc(maps.Values(c.byID), func(a, b *Plan) int { return cmp.Compare(a.ID, b.ID) })
	c.known = make([]known, len(c.all))
	c.broken = errors.Join(errs...)
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
