package ticket

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/sluicehq/sluice/queue"
)

// MaxJar is the longest value of the cookie in characters: browsers keep 4,096 bytes of name, value and attributes.
const MaxJar = 3800

// maxJarPlain is how many bytes of plaintext give a value of MaxJar characters.
const maxJarPlain = MaxJar*3/4 - overhead

// Jar is the cookie sluice_visitor: the visitor with the marks, and for each item the ticket or the pass. It belongs to
// one request: not safe for use by many goroutines.
//
// The same content always gives the same value, and the setters keep an old entry where the new one makes no difference
// that matters, so that the cookie is set only when Changed says so. What does not fit is left out, the entry that was
// not touched for longest first: such a visitor is found by the id, without the ticket.
type Jar struct {
	Visitor Visitor

	entries []entry // the one touched last first
	changed bool
}

// entry is what a jar holds for one item: a visitor waits there or is inside, never both.
type entry struct {
	item   itemName
	inside bool
	ticket Ticket   // not inside; without the visitor
	pass   PassStub // inside
}

// PassStub is what it takes to sign a pass of a visitor and an item again, to the letter. Whole seconds.
type PassStub struct {
	Generation queue.Generation
	IssuedMS   int64
	EndsMS     int64
}

// NewJar is the jar of a visitor who has none yet. It counts as changed.
func NewJar(v *Visitor) *Jar { return &Jar{Visitor: *v, changed: true} }

// Changed reports whether the value of the cookie is to be set: the jar is new, was changed, or is sealed with a secret
// key that is not the first any more.
func (j *Jar) Changed() bool { return j.changed }

// SetMark is Visitor.SetMark for the visitor in the jar.
func (j *Jar) SetMark(item queue.Item, ms int64) {
	j.changed = j.Visitor.SetMark(item, ms) || j.changed
}

// Renew is Visitor.Renew for the visitor in the jar.
func (j *Jar) Renew(nowMS int64) { j.changed = j.Visitor.Renew(nowMS) || j.changed }

func (j *Jar) find(item queue.Item) (itemName, int) {
	name := j.Visitor.name(item)
	return name, slices.IndexFunc(j.entries, func(e entry) bool { return e.item == name })
}

// Ticket gives the ticket of item, if the jar has one.
func (j *Jar) Ticket(item queue.Item) (Ticket, bool) {
	_, at := j.find(item)
	if at < 0 || j.entries[at].inside {
		return Ticket{}, false
	}
	t := j.entries[at].ticket
	t.Visitor = j.Visitor.ID
	return t, true
}

// Pass gives the pass of item, if the jar has one.
func (j *Jar) Pass(item queue.Item) (PassStub, bool) {
	_, at := j.find(item)
	if at < 0 || !j.entries[at].inside {
		return PassStub{}, false
	}
	return j.entries[at].pass, true
}

// lag is the part of its life by which a ticket in the jar may be behind the newest one: a fortieth, 18 s of the 12
// minutes that the defaults of a policy give. A visitor who comes back at the very end of the return time by the
// cookie alone is late by as much.
const lag = 40

// SetTicket puts the ticket of item in the place of what there is. A ticket that differs from the one in the jar only
// by being less than a fortieth of its life younger is not taken: else every poll would set the cookie. Another
// position is always taken, because a shown position must never grow.
func (j *Jar) SetTicket(item queue.Item, t Ticket) {
	t.Visitor = ""
	name, at := j.find(item)
	if at >= 0 && !j.entries[at].inside {
		old := j.entries[at].ticket
		younger := t.Place.IssuedMS - old.Place.IssuedMS
		life := t.EndsMS - t.Place.IssuedMS
		same := old
		same.Place.IssuedMS, same.EndsMS = t.Place.IssuedMS, t.EndsMS
		if same == t && old.EndsMS-old.Place.IssuedMS == life && younger < life/lag {
			return
		}
	}
	j.put(at, entry{item: name, ticket: t})
}

// SetPass puts the pass of item in the place of what there is.
func (j *Jar) SetPass(item queue.Item, p PassStub) {
	p.IssuedMS -= p.IssuedMS % 1000
	p.EndsMS -= p.EndsMS % 1000
	name, at := j.find(item)
	if at >= 0 && j.entries[at].inside && j.entries[at].pass == p {
		return
	}
	j.put(at, entry{item: name, inside: true, pass: p})
}

func (j *Jar) put(at int, e entry) {
	if at >= 0 {
		j.entries = slices.Delete(j.entries, at, at+1)
	}
	j.entries = slices.Insert(j.entries, 0, e)
	j.changed = true
}

// Empty reports whether the jar holds neither places nor passes.
func (j *Jar) Empty() bool { return len(j.entries) == 0 }

// Drop forgets the ticket or pass of item.
func (j *Jar) Drop(item queue.Item) {
	if _, at := j.find(item); at >= 0 {
		j.entries = slices.Delete(j.entries, at, at+1)
		j.changed = true
	}
}

// Jar flags, beside those of a ticket.
const insideEntry = 0x80

// SealJar gives the value of the cookie, at most MaxJar characters.
func (k *Keyring) SealJar(j *Jar) string {
	w := works.Get().(*work)
	defer works.Put(w)
	b := j.Visitor.append(w.plain[:0])
	base := j.newest()
	b = binary.AppendVarint(b, base)
	for _, e := range j.entries {
		before := len(b)
		if b = e.append(b, base); len(b) > maxJarPlain {
			b = b[:before]
			break
		}
	}
	w.plain = b
	return w.seal(k.rings[0].jar, "")
}

// TouchedMS is the latest instant that the jar tells of, unix ms: of two jars of one browser the later one is the truer.
func (j *Jar) TouchedMS() int64 {
	ms := max(j.newest(), j.Visitor.IssuedMS)
	if len(j.Visitor.marks) > 0 {
		ms = max(ms, j.Visitor.marks[0].sec*1000)
	}
	return ms
}

// newest is the latest instant of issue in the jar: the others are counted back from it.
func (j *Jar) newest() (ms int64) {
	for _, e := range j.entries {
		ms = max(ms, e.ticket.Place.IssuedMS, e.pass.IssuedMS)
	}
	return ms
}

func (e entry) append(b []byte, baseMS int64) []byte {
	b = append(b, e.item[:]...)
	if !e.inside {
		return e.ticket.append(b, baseMS)
	}
	sec := e.pass.IssuedMS / 1000
	b = append(b, insideEntry)
	b = binary.AppendVarint(b, baseMS/1000-sec)
	b = binary.AppendVarint(b, int64(e.pass.Generation)-sec)
	return binary.AppendVarint(b, e.pass.EndsMS/1000-sec)
}

func (r *reader) entry(baseMS int64) (e entry) {
	e.item = itemName(r.bytes(len(itemName{})))
	if len(r.b) == 0 || r.b[0] != insideEntry {
		e.ticket = r.ticket(baseMS)
		return e
	}
	r.byte()
	e.inside = true
	sec := baseMS/1000 - r.int()
	e.pass.IssuedMS = sec * 1000
	e.pass.Generation = queue.Generation(r.int() + sec)
	e.pass.EndsMS = (r.int() + sec) * 1000
	return e
}

func (e entry) expired(nowMS int64) bool {
	if e.inside {
		return nowMS >= e.pass.EndsMS+queue.PassLeewayMS
	}
	return nowMS >= e.ticket.EndsMS
}

// OpenJar reads the value of the cookie; ErrInvalid, or ErrExpired after a year. What has expired in it is left out.
func (k *Keyring) OpenJar(value string, now time.Time) (*Jar, error) {
	j := &Jar{}
	if err := k.ReadJar(j, value, now); err != nil {
		return nil, err
	}
	return j, nil
}

// ReadJar is OpenJar into j, whose memory it uses again. After an error what j holds is good for nothing else.
func (k *Keyring) ReadJar(j *Jar, value string, now time.Time) error {
	w := works.Get().(*work)
	defer works.Put(w)
	used, ok := k.open(w, (*ring).jarBox, "", value, MaxJar)
	if !ok {
		return ErrInvalid
	}
	r := reader{b: w.plain}
	j.entries, j.changed = j.entries[:0], used > 0
	r.visitorAndMarks(&j.Visitor)
	base := r.int()
	nowMS := now.UnixMilli()
	for !r.bad && len(r.b) > 0 {
		if e := r.entry(base); !e.expired(nowMS) {
			j.entries = append(j.entries, e)
		}
	}
	if !r.done() {
		return ErrInvalid
	}
	if j.Visitor.expired(now) {
		return ErrExpired
	}
	return nil
}

func (r *ring) jarBox() *box { return r.jar }
