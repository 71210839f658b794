package queue

import "fmt"

// State is what the queue of an item does.
type State uint8

// The states of a queue. The zero value is Off.
const (
	Off      State = iota // no queue: everybody passes
	Prequeue              // people gather, nobody is let in
	Open                  // people are let in at the inflow
	Paused                // people keep their places, nobody is let in
	Closed                // nobody new may join, nobody is let in
)

var stateNames = [...]string{"off", "prequeue", "open", "paused", "closed"}

// String gives the word of API, store, metrics and screens.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// ParseState reads the word that String writes.
func ParseState(word string) (State, bool) {
	for i, n := range stateNames {
		if n == word {
			return State(i), true
		}
	}
	return Off, false
}

// MarshalText writes the word.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the word.
func (s *State) UnmarshalText(b []byte) error {
	v, ok := ParseState(string(b))
	if !ok {
		return fmt.Errorf("queue state %q: not one of off, prequeue, open, paused, closed", b)
	}
	*s = v
	return nil
}

// Cause is what turned a queue on.
type Cause string

// The causes of an activation.
const (
	ByDetector Cause = "detector" // a trigger tripped; the detector releases it
	ByOperator Cause = "operator" // by hand; only a hand turns it off
	ByMode     Cause = "mode"     // the policy's mode is on
	BySale     Cause = "sale"     // a sale opened it; no grace
)

// Action is what an operator, a sale or the detector does to a queue.
type Action string

// The actions of a queue. Next says which are legal from where.
const (
	Activate   Action = "activate"
	Deactivate Action = "deactivate"
	Drain      Action = "drain"
	Close      Action = "close"
	Pause      Action = "pause"
	Resume     Action = "resume"
	Admit      Action = "admit"
	SetInflow  Action = "inflow"
	Reset      Action = "reset"
	Gather     Action = "prequeue" // a sale starts to gather people
)

// Next gives the state that an action leads to from s, whether it changes anything, and ErrWrongState where the action
// is not legal from s. An action that has already taken effect is legal and changes nothing.
func (s State) Next(a Action, draining bool) (to State, changes bool, err error) {
	switch a {
	case Activate:
		switch s {
		case Off, Prequeue:
			return Open, true, nil
		case Open:
			return Open, false, nil
		}
	case Deactivate:
		return Off, s != Off, nil
	case Drain:
		switch s {
		case Open, Paused:
			return Open, !draining || s == Paused, nil
		}
	case Close:
		return Closed, s != Closed, nil
	case Pause:
		switch s {
		case Open, Paused:
			return Paused, s == Open, nil
		}
	case Resume:
		switch s {
		case Open, Paused:
			return Open, s == Paused, nil
		}
	case Admit:
		switch s {
		case Open, Paused:
			return s, true, nil
		}
	case SetInflow, Reset:
		if s != Off {
			return s, true, nil
		}
	case Gather:
		switch s {
		case Off:
			return Prequeue, true, nil
		default:
			return s, false, nil
		}
	}
	return s, false, ErrWrongState.With(fmt.Sprintf("The queue is %s; %s is not possible from there.", s, a))
}
