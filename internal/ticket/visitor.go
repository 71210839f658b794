package ticket

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/sluicehq/sluice/queue"
)

const (
	// VisitorLife is how long a visitor token and the cookie are good for, from IssuedMS.
	VisitorLife = 365 * 24 * time.Hour
	// renewVisitor is the age from which Renew gives a visitor another year.
	renewVisitor = 30 * 24 * time.Hour
	// MaxMarks is how many items' marks a visitor carries; the oldest go.
	MaxMarks = 24
	// maxVisitorToken is the longest visitor token in characters.
	maxVisitorToken = 1024
)

// Visitor is what the visitor token says. It belongs to one request: not safe for use by many goroutines.
type Visitor struct {
	ID       queue.Visitor
	IssuedMS int64

	// salt makes the short names of items one's own, and unknown to the visitor, who therefore cannot look for an
	// item id that is taken for another.
	salt  [8]byte
	marks []mark // the newest first

	// The name last asked for: one request asks for that of its item again and again.
	item  queue.Item
	named itemName
}

// mark is the second at which a check of an item was last answered `pass`.
type mark struct {
	item itemName
	sec  int64
}

// itemName is the short name of an item in what one visitor carries.
type itemName [6]byte

// NewVisitor is a visitor without marks, known since nowMS.
func NewVisitor(id queue.Visitor, nowMS int64) *Visitor {
	v := &Visitor{ID: id, IssuedMS: nowMS}
	rand.Read(v.salt[:])
	return v
}

func (v *Visitor) name(item queue.Item) itemName {
	if v.item != item {
		var b [8 + 128]byte
		sum := sha256.Sum256(append(append(b[:0], v.salt[:]...), item...))
		v.item, v.named = item, itemName(sum[:])
	}
	return v.named
}

// Mark is when the visitor was last answered `pass` at item, unix ms, a whole second; 0 = never, as far as known.
func (v *Visitor) Mark(item queue.Item) int64 {
	name := v.name(item)
	for _, m := range v.marks {
		if m.item == name {
			return m.sec * 1000
		}
	}
	return 0
}

// SetMark notes that the visitor was answered `pass` at item at ms, and reports whether that changed the token. Within
// the same second, or before the mark that there is, it does not.
func (v *Visitor) SetMark(item queue.Item, ms int64) (changed bool) {
	name, sec := v.name(item), ms/1000
	at := slices.IndexFunc(v.marks, func(m mark) bool { return m.item == name })
	if at >= 0 {
		if v.marks[at].sec >= sec {
			return false
		}
		v.marks = slices.Delete(v.marks, at, at+1)
	}
	v.marks = slices.Insert(v.marks, 0, mark{name, sec})
	if len(v.marks) > MaxMarks {
		v.marks = v.marks[:MaxMarks]
	}
	return true
}

// Renew gives the visitor another year where more than a month of this one is over, and reports whether it did.
func (v *Visitor) Renew(nowMS int64) (changed bool) {
	if nowMS-v.IssuedMS < renewVisitor.Milliseconds() {
		return false
	}
	v.IssuedMS = nowMS
	return true
}

func (v *Visitor) expired(now time.Time) bool {
	return now.UnixMilli()-v.IssuedMS >= VisitorLife.Milliseconds()
}

// append writes the visitor; the marks as seconds before the first.
func (v *Visitor) append(b []byte) []byte {
	b = appendVisitor(b, v.ID)
	b = binary.AppendVarint(b, v.IssuedMS)
	b = append(b, v.salt[:]...)
	b = append(b, byte(len(v.marks)))
	var last int64
	for _, m := range v.marks {
		b = append(b, m.item[:]...)
		b = binary.AppendVarint(b, last-m.sec)
		last = m.sec
	}
	return b
}

// visitorAndMarks reads what append writes into v, whose memory it uses again.
func (r *reader) visitorAndMarks(v *Visitor) {
	*v = Visitor{ID: r.visitor(), IssuedMS: r.int(), salt: [8]byte(r.bytes(8)), marks: v.marks[:0]}
	n := int(r.byte())
	if n > MaxMarks {
		r.bad = true
		return
	}
	v.marks = slices.Grow(v.marks, min(n+1, MaxMarks))
	var last int64
	for range n {
		m := mark{item: itemName(r.bytes(len(itemName{}))), sec: last - r.int()}
		v.marks = append(v.marks, m)
		last = m.sec
	}
}

// SealVisitor gives the visitor token: `visitor` in answers, the header Sluice-Visitor.
func (k *Keyring) SealVisitor(v *Visitor) string {
	w := works.Get().(*work)
	defer works.Put(w)
	w.plain = v.append(w.plain[:0])
	return w.seal(k.rings[0].visitor, "")
}

// OpenVisitor reads a visitor token; ErrInvalid, or ErrExpired after a year.
func (k *Keyring) OpenVisitor(token string, now time.Time) (*Visitor, error) {
	v := &Visitor{}
	if err := k.ReadVisitor(v, token, now); err != nil {
		return nil, err
	}
	return v, nil
}

// ReadVisitor is OpenVisitor into v, whose memory it uses again. After an error what v holds is good for nothing else.
func (k *Keyring) ReadVisitor(v *Visitor, token string, now time.Time) error {
	w := works.Get().(*work)
	defer works.Put(w)
	if _, ok := k.open(w, (*ring).visitorBox, "", token, maxVisitorToken); !ok {
		return ErrInvalid
	}
	r := reader{b: w.plain}
	r.visitorAndMarks(v)
	if !r.done() {
		return ErrInvalid
	}
	if v.expired(now) {
		return ErrExpired
	}
	return nil
}

func (r *ring) visitorBox() *box { return r.visitor }
