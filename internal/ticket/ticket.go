package ticket

import (
	"encoding/binary"
	"time"

	"github.com/sluicehq/sluice/queue"
)

// Ticket is the proof of a place: whose it is and what the store needs to give it back.
type Ticket struct {
	Visitor  queue.Visitor
	Place    queue.Ticket
	JoinedMS int64 // joined_at, unix ms; the score of a lot does not say it
	EndsMS   int64 // no longer accepted from here on
}

// maxTicket is the longest ticket in characters.
const maxTicket = 256

// Ticket flags.
const (
	withJoined = 1 << iota // JoinedMS follows; else it is what the score says
	withLot                // the score is a lot
)

// SealTicket gives the ticket as a token that only the same item accepts, about 80 characters.
func (k *Keyring) SealTicket(item queue.Item, t Ticket) string {
	w := works.Get().(*work)
	defer works.Put(w)
	w.plain = t.append(appendVisitor(w.plain[:0], t.Visitor), 0)
	return w.seal(k.rings[0].ticket, string(item))
}

// OpenTicket reads a ticket of item; ErrInvalid, or ErrExpired. Whose it is is in it: the caller ignores a ticket that
// comes with the token of another visitor.
func (k *Keyring) OpenTicket(item queue.Item, token string, now time.Time) (Ticket, error) {
	w := works.Get().(*work)
	defer works.Put(w)
	if _, ok := k.open(w, (*ring).ticketBox, string(item), token, maxTicket); !ok {
		return Ticket{}, ErrInvalid
	}
	r := reader{b: w.plain}
	v := r.visitor()
	t := r.ticket(0)
	t.Visitor = v
	if !r.done() {
		return Ticket{}, ErrInvalid
	}
	if now.UnixMilli() >= t.EndsMS {
		return Ticket{}, ErrExpired
	}
	return t, nil
}

func (r *ring) ticketBox() *box { return r.ticket }

// append writes all but the visitor. The instant of issue is counted back from baseMS, all other numbers that are
// close to it from there: that saves a third in a jar of 60 tickets.
func (t Ticket) append(b []byte, baseMS int64) []byte {
	var flags byte
	issued := t.Place.IssuedMS
	lot := isLot(t.Place.Score)
	if lot {
		flags |= withLot
	}
	if lot || t.JoinedMS != t.Place.Score/1000 {
		flags |= withJoined
	}
	b = append(b, flags)
	b = binary.AppendVarint(b, baseMS-issued)
	b = binary.AppendVarint(b, int64(t.Place.Generation)-issued/1000)
	b = binary.AppendVarint(b, t.Place.Epoch)
	if lot {
		b = binary.AppendVarint(b, t.Place.Score)
	} else {
		b = binary.AppendVarint(b, issued*1000-t.Place.Score)
	}
	b = binary.AppendVarint(b, t.Place.ShownMost)
	b = binary.AppendVarint(b, t.EndsMS-issued)
	if flags&withJoined != 0 {
		b = binary.AppendVarint(b, issued-t.JoinedMS)
	}
	return b
}

func (r *reader) ticket(baseMS int64) (t Ticket) {
	flags := r.byte()
	issued := baseMS - r.int()
	t.Place.IssuedMS = issued
	t.Place.Generation = queue.Generation(r.int() + issued/1000)
	t.Place.Epoch = r.int()
	t.Place.Score = r.int()
	if flags&withLot == 0 {
		t.Place.Score = issued*1000 - t.Place.Score
	}
	t.Place.ShownMost = r.int()
	t.EndsMS = r.int() + issued
	t.JoinedMS = t.Place.Score / 1000
	if flags&withJoined != 0 {
		t.JoinedMS = issued - r.int()
	}
	return t
}

func isLot(score int64) bool { return 0 < score && score < queue.MaxLot }
