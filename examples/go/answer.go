package sluice

import (
	"fmt"
	"time"
)

// Action is what a visitor is to do.
type Action string

// The actions.
const (
	Pass   Action = "pass"   // go on
	Wait   Action = "wait"   // in line
	Reject Action = "reject" // neither; see Answer.RetryAfterMS
)

// Reason says why.
type Reason string

// The reasons, by action.
const (
	QueueOff  Reason = "queue_off" // pass
	PassValid Reason = "pass_valid"
	Admitted  Reason = "admitted"
	Grace     Reason = "grace" // was inside when the queue turned on
	Bypass    Reason = "bypass"
	StoreDown Reason = "store_down" // pass or wait, as the item's policy says

	QueueOn  Reason = "queue_on" // wait
	Prequeue Reason = "prequeue"
	Paused   Reason = "paused"

	QueueFull  Reason = "queue_full" // reject
	Closed     Reason = "closed"
	NotInvited Reason = "not_invited"
	Blocked    Reason = "blocked"
)

// State is the state of an item's queue.
type State string

// The states.
const (
	StateOff      State = "off"
	StatePrequeue State = "prequeue"
	StateOpen     State = "open"
	StatePaused   State = "paused"
	StateClosed   State = "closed"
)

// Answer is what Sluice says to one visitor about one item.
type Answer struct {
	Item    string `json:"item"`
	Action  Action `json:"action"`
	Reason  Reason `json:"reason"`
	Visitor string `json:"visitor"` // the token to send next time; Client does
	Queue   Queue  `json:"queue"`
	Place   *Place `json:"place"` // with action wait
	Pass    *Token `json:"pass"`  // with reasons admitted, pass_valid and grace
	// RetryAfterMS is, with action reject, when asking again makes sense; nil = never.
	RetryAfterMS *int64 `json:"retry_after_ms"`
}

// Queue is the item's queue as a whole.
type Queue struct {
	State      State `json:"state"`
	Generation int64 `json:"generation"` // rises with every activation
	Waiting    int64 `json:"waiting"`    // people in line
}

// Place is where a visitor stands.
type Place struct {
	Ticket         *string    `json:"ticket"`      // the proof of the place; nil where there is none yet
	Position       *int64     `json:"position"`    // 1 = next; nil where it is not shown
	Exact          bool       `json:"exact"`       // false: an estimate, within 1 %, at most 1 s old
	JoinedAt       *time.Time `json:"joined_at"`   // when the place was taken
	EtaSeconds     *int64     `json:"eta_seconds"` // nil where nobody is let in
	EtaLowSeconds  *int64     `json:"eta_low_seconds"`
	EtaHighSeconds *int64     `json:"eta_high_seconds"`
	OpensAt        *time.Time `json:"opens_at"`      // in a prequeue: when the line starts to move
	PollAfterMS    int64      `json:"poll_after_ms"` // ask again no sooner
	WaitURL        string     `json:"wait_url"`      // the waiting page
}

// Token is a pass: an EdDSA JWT, which package pass verifies.
type Token struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
}

// RenewalError says why a pass was not renewed.
type RenewalError string

// Why a pass was not renewed.
const (
	RenewalExpired RenewalError = "expired"
	RenewalEnded   RenewalError = "ended" // the session was finished or revoked
	RenewalInvalid RenewalError = "invalid"
)

// Renewal is what became of one pass: a newer one, or the reason why there is none.
type Renewal struct {
	Token     string       `json:"token"` // the newer pass
	ExpiresAt time.Time    `json:"expires_at"`
	Error     RenewalError `json:"error"` // "" = renewed
}

// Error is an answer that is a problem (RFC 9457).
type Error struct {
	Status int    `json:"status"`
	Code   string `json:"code"` // a stable machine-readable word, such as "no_place"
	Title  string `json:"title"`
	Detail string `json:"detail"` // for people
	Type   string `json:"type"`
}

func (e *Error) Error() string { return fmt.Sprintf("sluice: %s: %s", e.Code, e.Detail) }
