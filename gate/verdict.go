package gate

import (
	"time"

	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/internal/ticket"
	"github.com/sluicehq/sluice/queue"
)

// Action is what a visitor may do now.
type Action string

// The actions of an answer.
const (
	Pass   Action = "pass"
	Wait   Action = "wait"
	Reject Action = "reject"
)

// Reason is why. Each action has reasons of its own, so that every answer has exactly one.
type Reason string

// The reasons of an answer.
const (
	QueueOff  Reason = "queue_off"  // pass
	PassValid Reason = "pass_valid" // pass
	Admitted  Reason = "admitted"   // pass
	Grace     Reason = "grace"      // pass: was inside when the queue turned on
	StoreDown Reason = "store_down" // pass where the policy fails open, wait where it fails closed

	QueueOn  Reason = "queue_on" // wait
	Prequeue Reason = "prequeue" // wait
	Paused   Reason = "paused"   // wait

	QueueFull Reason = "queue_full" // reject
	Closed    Reason = "closed"     // reject
)

// never is the retry time of a refusal that asking again does not change.
const never = -1

// verdict is what one visitor is answered.
type verdict struct {
	action  Action
	reason  Reason
	header  queue.Header
	waiting int64

	// pass, with action Pass: the stub of the visitor's pass; none where IssuedMS is 0.
	pass     ticket.PassStub
	unmarked bool  // this pass leaves no mark
	retryMS  int64 // with action Reject; never = asking again changes nothing

	// With action Wait.
	place    ticket.Ticket // the place; Generation 0 = none is known
	position int64         // 1 = next; 0 = not shown
	exact    bool
	eta      queue.Estimate
	poll     time.Duration // ask again no sooner
}

func passes(r Reason, h queue.Header) verdict { return verdict{action: Pass, reason: r, header: h} }

// rejects refuses; retryMS says when asking again makes sense.
func rejects(r Reason, h queue.Header, retryMS int64) verdict {
	return verdict{action: Reject, reason: r, header: h, retryMS: retryMS}
}

// waits is why a visitor of a queue in this state waits.
func (q *question) waits(s queue.State) Reason {
	switch {
	case s == queue.Prequeue:
		return Prequeue
	case s == queue.Paused, q.swtch == settings.Hold:
		return Paused
	default:
		return QueueOn
	}
}
