package admin

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
)

// The types of events, by the contract.
const (
	QueueActivated = "queue.activated"
	QueueReleased  = "queue.released"
	QueuePaused    = "queue.paused"
	QueueResumed   = "queue.resumed"
	QueueClosed    = "queue.closed"
	SalePrequeue   = "sale.prequeue"
	SaleOpened     = "sale.opened"
	SaleClosed     = "sale.closed"
	SaleMissed     = "sale.missed"
	PolicyChanged  = "policy.changed"
	StoreDown      = "store.down"
	StoreUp        = "store.up"
	StoreRestored  = "store.restored"
)

// EventTypes lists the types of all events.
func EventTypes() []string {
	return []string{
		QueueActivated, QueueReleased, QueuePaused, QueueResumed, QueueClosed, PolicyChanged,
		SalePrequeue, SaleOpened, SaleClosed, SaleMissed, StoreDown, StoreUp, StoreRestored,
	}
}

// Event is something that happened. Header belongs to the events of a queue.
type Event struct {
	// Key names the event where it has no header and several nodes may tell of it; "" = it is this node's alone.
	Key    string
	Type   string
	Item   queue.Item // "" = not about one item
	Time   time.Time
	Header *queue.Header  // after it; of a release: with the generation that ended
	Ended  *queue.Ended   // of a release: the books and the story, where known
	Trip   queue.Trip     // of an activation by the detector: what it saw, where known
	Reason string         // of a release: "released", "drained", "deactivated", "reset"
	Data   map[string]any // what else there is to say
}

// data is what the event says beside its type, item and time.
func (e Event) data() map[string]any {
	data := map[string]any{}
	for k, v := range e.Data {
		data[k] = v
	}
	if h := e.Header; h != nil {
		data["state"], data["generation"], data["cause"], data["by"] = h.State, h.Generation, h.Cause, h.By
		data["activated_at"], data["reason"], data["books"], data["line"], data["trip"] = msInstant(h.ActivatedMS), orNil(e.Reason), nil, nil, nil
		if e.Ended != nil {
			data["books"], data["line"] = booksOf(e.Ended.Counts), sqlstore.LineStoryOf(e.Ended.Story)
		}
		if trip := e.trip(); trip != (queue.Trip{}) {
			data["trip"] = trip
		}
	}
	return data
}

// trip is what the detector saw, as far as the event knows.
func (e Event) trip() queue.Trip {
	if e.Ended != nil {
		return e.Ended.Story.Trip
	}
	return e.Trip
}

// MarshalJSON writes the event as it is sent.
func (e Event) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type string         `json:"type"`
		Item *queue.Item    `json:"item"`
		Time instant        `json:"time"`
		Data map[string]any `json:"data"`
	}{e.Type, orNil(e.Item), instant(e.Time), e.data()})
}

// Events hands what happened to whoever listens on this node. The zero value is ready. One event told twice, by the
// node that did it and by the store's notice, is handed on once.
type Events struct {
	mu     sync.Mutex
	subs   map[*subscription]struct{}
	told   map[told]struct{}
	order  []told // ring of the newest in told
	next   int
	closed bool
}

// told names an event of a queue: the version of its header is unlike any other's.
type told struct {
	kind       string
	item       queue.Item
	generation queue.Generation
	version    int64
	ended      bool // told with books and story: so is what had been told without
}

// remembered is how many events of queues are known again.
const remembered = 4096

// subscription is one listener. C is closed when it fell behind, or at the end.
type subscription struct {
	C  chan Event
	of *Events
}

// Publish hands an event to all listeners. It never blocks: who does not keep up is let go.
func (e *Events) Publish(ev Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known(ev) {
		return
	}
	for s := range e.subs {
		select {
		case s.C <- ev:
		default:
			delete(e.subs, s)
			close(s.C)
		}
	}
}

func (e *Events) known(ev Event) bool {
	if ev.Header == nil {
		return false
	}
	t := told{ev.Type, ev.Item, ev.Header.Generation, ev.Header.Version, ev.Ended != nil}
	if _, ok := e.told[t]; ok {
		return true
	}
	if e.told == nil {
		e.told, e.order = make(map[told]struct{}, remembered), make([]told, remembered)
	}
	e.remember(t)
	if t.ended { // who tells of it without them tells nothing new
		t.ended = false
		e.remember(t)
	}
	return false
}

func (e *Events) remember(t told) {
	delete(e.told, e.order[e.next])
	e.told[t], e.order[e.next] = struct{}{}, t
	e.next = (e.next + 1) % remembered
}

// subscribe adds a listener that may fall behind by so many events; nil after Close.
func (e *Events) subscribe(backlog int) *subscription {
	s := &subscription{C: make(chan Event, backlog), of: e}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	if e.subs == nil {
		e.subs = map[*subscription]struct{}{}
	}
	e.subs[s] = struct{}{}
	return s
}

// end takes the listener away.
func (s *subscription) end() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if _, ok := s.of.subs[s]; ok {
		delete(s.of.subs, s)
		close(s.C)
	}
}

// Close ends all streams, so that a server can be shut down. What was published before is still handed on.
func (e *Events) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	for s := range e.subs {
		close(s.C)
	}
	e.subs = nil
}
