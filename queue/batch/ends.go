package batch

import (
	"strings"
	"time"

	"github.com/sluicehq/sluice/internal/recent"
	"github.com/sluicehq/sluice/queue"
)

const (
	// mostKept bounds each half of what is remembered of ended places and passes.
	mostKept = 100_000
	// longestLife is how long a pass or a ticket may live where its end is not known better.
	longestLife = 48 * time.Hour
)

// place is one visitor at one item.
type place struct {
	item    queue.Item
	visitor queue.Visitor
}

// Ends is what a node remembers of the places and passes that ended through it, and of the passes whose end it was told
// of. It is asked before a ticket or a pass is believed, so that what has ended stays so when the store has lost its
// marks; and it gives the marks back to such a store. Safe for concurrent use.
type Ends struct {
	of *recent.Map[place, end]
	// Life, where set, is how long tickets and passes of an item live: their end is of interest for as long. nil = two
	// days.
	Life func(queue.Item) time.Duration
}

func newEnds() Ends { return Ends{of: recent.New[place, end](mostKept, keepGone)} }

// end is what of one visitor's has ended at one item.
type end struct {
	score    int64 // tickets of this score and lower ones, and all lots; 0 = not known
	placesMS int64 // lots whose tickets were issued up to this instant
	passesMS int64 // passes issued up to this instant
}

// EndPass notes that the visitor's passes issued up to an instant have ended.
func (e *Ends) EndPass(item queue.Item, v queue.Visitor, untilMS int64) {
	e.change(item, v, func(old end) end {
		old.passesMS = max(old.passesMS, untilMS)
		return old
	})
}

// PassEnded reports whether the visitor's pass of that issue is known to have ended.
func (e *Ends) PassEnded(item queue.Item, v queue.Visitor, issuedMS int64) bool {
	old, ok := e.of.Get(place{item, v})
	return ok && issuedMS <= old.passesMS
}

// EndPlace notes that the visitor's place has ended at an instant: by leaving, being let in or being revoked. Score is
// the one up to which tickets have ended; 0 where a draw is under way, in which the same lot may be taken again.
func (e *Ends) EndPlace(item queue.Item, v queue.Visitor, score, atMS int64) {
	e.change(item, v, func(old end) end {
		if old.placesMS = max(old.placesMS, atMS); score == 0 {
			old.score = 0 // that of an earlier generation, whose tickets ended with it
		}
		old.score = max(old.score, score)
		return old
	})
}

// PlaceEnded reports whether the place of a ticket is known to have ended.
func (e *Ends) PlaceEnded(item queue.Item, v queue.Visitor, t queue.Ticket) bool {
	old, ok := e.of.Get(place{item, v})
	if !ok {
		return false
	}
	if t.Score < queue.MaxLot {
		return t.IssuedMS <= old.placesMS // the lot tells nothing of when
	}
	return t.Score <= old.score
}

// Since says which ends of an item still matter: places that ended at or after an instant, and passes likewise.
type Since struct{ PlacesMS, PassesMS int64 }

// Marks gives what is remembered of some items, for a store that has lost it. It looks through all that is remembered.
func (e *Ends) Marks(items map[queue.Item]Since) map[queue.Item][]queue.Mark {
	marks := map[queue.Item][]queue.Mark{}
	e.of.All(func(k place, x end) {
		since, wanted := items[k.item]
		if !wanted {
			return
		}
		m := queue.Mark{Visitor: k.visitor, Score: -1, UntilMS: -1}
		if x.score > 0 && x.placesMS >= since.PlacesMS {
			m.Score = x.score
		}
		if x.passesMS > 0 && x.passesMS >= since.PassesMS {
			m.UntilMS = x.passesMS
		}
		if m.Score > 0 || m.UntilMS > 0 {
			marks[k.item] = append(marks[k.item], m)
		}
	})
	return marks
}

// change notes more of a visitor, under a key that outlives the request whose text it was cut from.
func (e *Ends) change(item queue.Item, v queue.Visitor, f func(end) end) {
	life := longestLife
	if e.Life != nil {
		life = e.Life(item)
	}
	e.of.Change(place{queue.Item(strings.Clone(string(item))), queue.Visitor(strings.Clone(string(v)))}, life, f)
}
