package ticket

import (
	"encoding/binary"

	"github.com/sluicehq/sluice/queue"
)

// packed marks a visitor id of 16 characters, which stands as its 12 bytes; any other mark is the length of an id that
// stands as it is (17 to 22).
const packed = 12

func appendVisitor(b []byte, v queue.Visitor) []byte {
	var text [16]byte
	if len(v) == len(text) {
		copy(text[:], v)
		if packed, err := b64.AppendDecode(append(b, packed), text[:]); err == nil {
			return packed
		}
	}
	return append(append(b, byte(len(v))), v...)
}

// reader takes a plaintext apart. Past the end, or after anything that cannot be, it gives zeros and bad is set: so a
// text of another version of this program is refused, and never a panic.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) bytes(n int) []byte {
	if r.bad || n > len(r.b) {
		r.bad = true
		return make([]byte, n)
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) byte() byte { return r.bytes(1)[0] }

func (r *reader) int() int64 {
	n, size := binary.Varint(r.b)
	if r.bad || size <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) visitor() queue.Visitor {
	n := int(r.byte())
	if n == packed {
		return queue.VisitorOf(r.bytes(packed))
	}
	v, err := queue.ParseVisitor(string(r.bytes(n)))
	if err != nil {
		r.bad = true
	}
	return v
}

// done reports whether all was read and nothing was wrong.
func (r *reader) done() bool { return !r.bad && len(r.b) == 0 }
