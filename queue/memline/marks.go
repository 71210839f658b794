package memline

import "github.com/sluicehq/sluice/queue"

// mark says what of a visitor's has ended; the zero value of a field ends nothing.
type mark struct {
	score int64 // tickets of this score and lower ones, and all lots; -1 = none
	ended int64 // passes and visits up to this instant, ms; -1 = none
}

var unmarked = mark{-1, -1}

// marks remembers ended places and passes for one to two of their lifetimes: two halves take turns, so that forgetting
// costs nothing.
type marks struct {
	newer, older map[queue.Visitor]mark
	turnedMS     int64
}

// turn lets the older half go once nothing in it can matter.
func (m *marks) turn(l queue.Limits, now instant) {
	life := max(l.SessionMS+queue.PassLeewayMS, l.TicketLifeMS()) + 60_000
	switch {
	case m.turnedMS == 0:
		m.turnedMS = now.ms
	case now.ms-m.turnedMS > life:
		m.newer, m.older, m.turnedMS = nil, m.newer, now.ms
	}
}

func (m *marks) of(v queue.Visitor) mark {
	a, b := unmarked, unmarked
	if x, ok := m.newer[v]; ok {
		a = x
	}
	if x, ok := m.older[v]; ok {
		b = x
	}
	return mark{max(a.score, b.score), max(a.ended, b.ended)}
}

// set marks a visitor; a later mark never lowers an earlier one.
func (m *marks) set(v queue.Visitor, score, ended int64) {
	old := m.of(v)
	m.put(v, mark{max(old.score, score), max(old.ended, ended)})
}

// forgetTickets keeps only what the mark says of passes: whoever draws a lot anew draws the same one.
func (m *marks) forgetTickets(v queue.Visitor) {
	if old := m.of(v); old != unmarked {
		delete(m.older, v)
		m.put(v, mark{-1, old.ended})
	}
}

func (m *marks) put(v queue.Visitor, x mark) {
	if m.newer == nil {
		m.newer = map[queue.Visitor]mark{}
	}
	m.newer[v] = x
}

func (m *marks) clear() { m.newer, m.older = nil, nil }

func (m *marks) any() bool { return len(m.newer)+len(m.older) > 0 }
