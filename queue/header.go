package queue

import "time"

// Header is what every node knows of one item's queue: small, versioned, pushed on change.
type Header struct {
	Item        Item       `json:"item"`
	State       State      `json:"state"`
	Draining    bool       `json:"draining"` // open, but newcomers are refused; off when the line is empty
	Generation  Generation `json:"generation"`
	PassesFrom  Generation `json:"passes_from"` // passes of earlier generations are over
	Epoch       int64      `json:"epoch"`       // random; another one after the store lost data
	Version     int64      `json:"version"`     // rises with every change of the header, also over losses
	Cause       Cause      `json:"cause"`
	By          string     `json:"by"`           // who or what in words: an operator's name, the trigger, the sale
	Grace       bool       `json:"grace"`        // who was inside at ActivatedMS passes on
	ActivatedMS int64      `json:"activated_ms"` // store's clock, unix ms
	OpensMS     int64      `json:"opens_ms"`     // prequeue: when the line starts to move; 0 = unknown
	Inflow      float64    `json:"inflow"`       // people per second in force
	Override    *float64   `json:"override"`     // inflow set by hand for this generation; nil = policy
}

// On reports whether there is a queue.
func (h Header) On() bool { return h.State != Off }

// Newer reports whether h replaces old in a node's memory.
func (h Header) Newer(old Header) bool { return h.Version > old.Version }

// Counts are the sizes of the sets, and the books of the current generation.
type Counts struct {
	Waiting  int64 `json:"waiting"`
	Running  int64 `json:"running"`
	Reserved int64 `json:"reserved"` // known to be inside but not in running

	Joined    int64 `json:"joined"`   // new places, those admitted at once included
	Returned  int64 `json:"returned"` // places taken again with a ticket
	Restored  int64 `json:"restored"` // the part of Returned that a loss of the store had cost
	Admitted  int64 `json:"admitted"`
	Abandoned int64 `json:"abandoned"` // silent too long
	Left      int64 `json:"left"`      // by own wish, revoked, or by reset, close, release
	Carried   int64 `json:"carried"`   // came into running otherwise: grace, earlier passes, after a loss
	Finished  int64 `json:"finished"`
	NoShow    int64 `json:"no_show"` // admitted, never claimed
	Revoked   int64 `json:"revoked"`
}

// Balanced reports invariant books-balance.
func (c Counts) Balanced() bool {
	return c.Joined+c.Returned == c.Waiting+c.Admitted+c.Abandoned+c.Left &&
		c.Admitted+c.Carried == c.Running+c.Finished+c.NoShow+c.Revoked
}

// ScoreTime gives the arrival instant that a score in waiting stands for; the zero time for a lot.
func ScoreTime(score int64) time.Time {
	if score < MaxLot {
		return time.Time{}
	}
	return time.UnixMicro(score).UTC()
}

// MaxLot bounds the lots of a draw: 1 <= lot < MaxLot, and every arrival after the year 2005 is above it.
const MaxLot = int64(1) << 50
