package queue

// The calls of a line and their answers. Both stores (redisline, memline) have these methods; who uses a line declares
// the few that it calls:
//
//	Ask(ctx, Item, []Ask) (Answers, error)              join, return, claim, where do I stand
//	Touch(ctx, Item, []Beat) (TouchReport, error)       heard of, renewed; many at once
//	End(ctx, Item, Ending) (EndReport, error)           leave, finish, revoke
//	Recall(ctx, Item, RecallOrder) (RecallReport, error)  ends that a store has lost and a node remembers
//	Step(ctx, Item, StepOrder) (StepReport, error)      let in, expire, sweep, release
//	Switch(ctx, Item, SwitchOrder) (SwitchReport, error)  what operators, sales and losses do to a queue
//	Look(ctx, Item) (Snapshot, error)                   header, counts, bucket
//	Find(ctx, Item, Visitor) (Standing, error)          where one visitor stands
//	FindRef(ctx, Item, ref) (Visitor, bool, error)      whose reference a page shows
//	Positions(ctx, Item) (Table, error)                 samples of the line, for far polls
//	Head(ctx, Item, most) (Head, error)                 who is next, for polls near the head
//
// All instants in orders and reports are unix milliseconds by the store's clock, scores are microseconds.

// Ticket is what a verified ticket says (internal/ticket has checked signature, item, visitor and expiry).
type Ticket struct {
	Generation Generation
	Epoch      int64
	Score      int64 // the place's score in waiting: arrival in µs, or the lot
	IssuedMS   int64
	ShownMost  int64 // the position last shown; 0 = none was
}

// Ask is one visitor's question at an item whose queue is on (or may be).
type Ask struct {
	Visitor Visitor
	Ticket  *Ticket // nil = none that verifies
	Create  bool    // make a new place where there is none (check, waiting page); false for status
	Peek    bool    // read only: no place, no claim, no return, no heartbeat (HEAD, prefetch, event stream)
	// MarkMS is when the visitor was last answered `pass` here, by the visitor token; 0 = never. With it, and the
	// queue's Grace, one who was inside when the queue turned on goes on passing.
	MarkMS int64
	// Lot is the visitor's lot (1 to MaxLot-1), used where the queue gathers people in random order.
	Lot int64
}

// Outcome is what an Ask found or did.
type Outcome uint8

// The outcomes of an Ask.
const (
	NoQueue Outcome = iota // the queue is off
	NoPlace                // neither in line nor inside, and none was made
	Waiting                // in line
	Inside                 // in running: admitted now or before, or by grace
	Full                   // refused: max_waiting
	NotOpen                // refused: closed or draining
)

// AdmissionKind is how a visitor came into running.
type AdmissionKind byte

// The kinds of admission.
const (
	Let     AdmissionKind = 'a' // let in by the mover, or at once into an empty line
	Graced  AdmissionKind = 'g' // was inside when the queue turned on
	Carried AdmissionKind = 'c' // with a pass of an earlier generation, or from before a loss
)

// Admission is a visitor's stay in running.
type Admission struct {
	Kind       AdmissionKind
	AdmittedMS int64
	ClaimedMS  int64 // first seen inside; 0 = not claimed yet
	// IssuedMS is the iat of the newest pass: whoever asks again soon gets the very same pass. Whole seconds.
	IssuedMS int64
	// PassEndsMS is the exp that belongs to IssuedMS: IssuedMS + session, or with session_renewal off the claim + session.
	PassEndsMS int64
	// Requests is how many requests of this stay were seen, those of a second late.
	Requests int64
}

// PassLeewayMS is how long past its exp a pass is still accepted, and its slot held.
const PassLeewayMS = 5000

// Answer answers one Ask.
type Answer struct {
	Outcome   Outcome
	New       bool  // this call made the place, or admitted into the empty line
	Returned  bool  // this call put the visitor back with the ticket
	Score     int64 // waiting: the place's score; inside, without Peek: the one up to which tickets have ended
	Position  int64 // waiting: 1 = next, exact; 0 in a prequeue with random order
	Admission Admission
}

// Answers answers a batch of Asks, in their order.
type Answers struct {
	Header  Header
	Counts  Counts
	NowMS   int64 // the store's clock at the call
	Answers []Answer
}

// BeatKind is what a Beat reports.
type BeatKind byte

// The kinds of Beat.
const (
	Heard BeatKind = 'h' // a waiting visitor polled
	Renew BeatKind = 'r' // a visitor inside showed a valid pass, or got a newer one
)

// Beat is one visitor's sign of life; a node gathers them and sends many at once. Repeating one is harmless.
type Beat struct {
	Kind       BeatKind
	Visitor    Visitor
	Generation Generation // Renew: of the pass
	IssuedMS   int64      // Renew: iat of the newest pass this node gave or saw
	EndsMS     int64      // Renew: its exp
	Requests   int64      // Renew: how many requests showed it since the last beat
}

// TouchReport names, by index into the beats, those whose place or session is no more.
type TouchReport struct {
	Header  Header
	NowMS   int64
	Missing []int       // Heard, and not in waiting: ask the store at the next poll
	Ended   []EndedPass // Renew, and the pass was ended (finish, revoke, reset): refuse it
}

// EndedPass says that the pass of a Beat has ended, and with it all of that visitor's that were issued up to UntilMS.
type EndedPass struct {
	Beat    int
	UntilMS int64
}

// EndKind is how a place or a session ends.
type EndKind byte

// The kinds of Ending.
const (
	Leave  EndKind = 'l' // the visitor leaves the line
	Finish EndKind = 'f' // the visitor, or the shop's server, ends the session
	Revoke EndKind = 'r' // an operator ends the place or the session
)

// Ending ends what one visitor has. Tickets and passes issued before lose their power. Repeating one is harmless.
type Ending struct {
	Kind    EndKind
	Visitor Visitor
}

// EndReport says what there was to end.
type EndReport struct {
	Header     Header
	NowMS      int64
	WasWaiting bool
	WasRunning bool
	Score      int64 // tickets of this score and lower ones have ended
}

// Mark says what of a visitor's has ended at an item, as a node remembers it.
type Mark struct {
	Visitor Visitor
	Score   int64 // tickets of this score and lower ones, and all lots; -1 = none
	UntilMS int64 // passes issued up to this instant; -1 = none
}

// RecallOrder gives marks back to a line that may have lost them. Repeating it is harmless.
type RecallOrder struct {
	Generation Generation // that the scores belong to; at a line of another one they end nothing
	Marks      []Mark     // at most 200
}

// RecallReport says what had come back in the meantime though it had ended.
type RecallReport struct {
	Header   Header
	NowMS    int64
	Left     int64 // places
	Finished int64 // sessions
}

// Limits are the policy's numbers that a line itself obeys. They are kept beside the line, so that all nodes use the
// same ones; the highest Version wins.
type Limits struct {
	Version        int64   `json:"version"` // of the settings they come from
	Inflow         float64 `json:"inflow"`  // people per second
	MaxActive      int64   `json:"max_active"`
	SessionMS      int64   `json:"session_ms"`
	SessionRenewal bool    `json:"session_renewal"`
	ClaimMS        int64   `json:"claim_ms"`
	AbandonMS      int64   `json:"abandon_ms"`
	ReturnMS       int64   `json:"return_ms"`
	MaxWaiting     int64   `json:"max_waiting"`
	Random         bool    `json:"random"` // order random: a prequeue draws lots
	Auto           bool    `json:"auto"`   // mode auto: the line may be released
	Hold           bool    `json:"hold"`   // the switch over all items is on hold: nobody is let in
	ReleaseAfterMS int64   `json:"release_after_ms"`
	ReleaseRatio   float64 `json:"release_ratio"`
	Trigger        Trigger `json:"trigger"`
}

// Trigger is when the detector turns a queue on.
type Trigger struct {
	Requests             int64 `json:"requests"`                // this many checks …
	WindowMS             int64 `json:"window_ms"`               // … in a sliding window of this length; 1,000 to 600,000
	NewVisitorsPerMinute int64 `json:"new_visitors_per_minute"` // 0 = none
	ActiveUsers          int64 `json:"active_users"`            // 0 = none
}

// StepOrder is one step of one item.
type StepOrder struct {
	Limits Limits
	Most   int   // most visitors to move in this call, 1 to 300
	TickMS int64 // the mover's pace; a longer silence between steps takes nobody's time. 0: no such account (replay)
	// What the node knows; a store that knows less has lost data.
	Seen Known
}

// Known is what a node remembers of an item, to heal a store that has lost it.
type Known struct {
	Header    Header
	LastScore int64 // the highest score seen in waiting
	Inside    int64 // running + reserved when last seen
	HoldMS    int64 // admit nobody for this long after a loss; less than 2,000 counts as 2,000
}

// LetIn is one visitor let in by a step.
type LetIn struct {
	Visitor Visitor
	Score   int64 // the score of the place in waiting, for the time waited
}

// StepReport is what one step did.
type StepReport struct {
	Header    Header
	Counts    Counts
	NowMS     int64
	Admitted  []LetIn // in the order of admission
	NoShow    int64
	Finished  int64
	Abandoned int64
	Released  bool   // this step turned the queue off
	Reason    string // Released: "released" (traffic) or "drained"
	Story     Story  // Released: of the generation that ended
	Restored  bool   // this step found a loss and began a new epoch
	Missing   bool   // there is nothing in the store for this item
	More      bool   // there is more to do at once: step again
	DueMS     int64  // when the next step is needed at the latest
	LastScore int64
	HeadScore int64   // the score of the first in line; 0 = nobody waits
	Requests  float64 // traffic in the window; -1 where not measured here
}

// SwitchOrder does Action to a queue.
type SwitchOrder struct {
	Action   Action
	Limits   Limits
	Cause    Cause
	By       string
	OpensMS  int64    // Gather: when it will open
	Reserved int64    // Activate: active users of this moment
	Trip     Trip     // Activate by the detector: what it saw
	Count    int64    // Admit: how many beyond the rate
	Inflow   *float64 // SetInflow: nil = policy again
	// Known, with Action Restore, is what the node remembers of a queue that the store has lost.
	Known Known
	// Key makes Admit and Reset take effect once; "" = no key.
	Key string
}

// Restore puts back a queue that the store has lost; it does nothing where the store has it.
const Restore Action = "restore"

// SwitchReport is what a SwitchOrder did.
type SwitchReport struct {
	Header  Header
	Counts  Counts // after
	Before  Header
	Changed bool
	NowMS   int64
	Left    int64  // how many places the action ended
	Ended   *Ended // the generation that the action ended; nil = none
}

// Snapshot is the whole of one queue, for operators.
type Snapshot struct {
	Header      Header
	Counts      Counts
	NowMS       int64
	Tokens      float64
	Debt        int64 // admissions ordered by hand and not worked off yet
	LastScore   int64
	HoldMS      int64   // nobody is admitted before this instant; 0 = no hold
	InPerSecond float64 // let in per second, over the last ten to twenty seconds; -1 = not known yet
	Requests    float64
	Story       Story // of the generation that is on or was on last
}

// Standing is where one visitor stands.
type Standing struct {
	Header    Header
	NowMS     int64
	Outcome   Outcome // NoPlace, Waiting or Inside
	Score     int64
	Position  int64
	HeardMS   int64
	Admission Admission
}
