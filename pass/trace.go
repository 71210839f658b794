package pass

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"net/http"
)

// Trace is the trace of a visitor's whole wait, from the join to the requests inside. It follows from what tickets and
// passes say anyhow, so every node and every origin finds the same one without being told.
type Trace struct {
	ID   [16]byte
	Span [8]byte // of the span around the wait, which all others hang below
}

// TraceOf gives the trace of a visitor's wait for an item, in a generation of its queue.
func TraceOf(item, visitor string, generation int64) (t Trace) {
	var buf [192]byte
	b := append(buf[:0], item...)
	b = append(append(b, 0), visitor...)
	b = binary.AppendVarint(append(b, 0), generation)
	sum := sha256.Sum256(b)
	copy(t.ID[:], sum[:16])
	copy(t.Span[:], sum[16:24])
	return t
}

// Sampled reports whether a trace is among the share that is traced (0 to 1): by the 56 bits of its id that W3C has be
// random, so that nodes, origins and collectors decide alike.
func (t Trace) Sampled(share float64) bool {
	const all = 1 << 56
	return binary.BigEndian.Uint64(t.ID[8:])&(all-1) < uint64(share*all)
}

// traceparent is the header by which a request within the wait names it, as one that is sampled.
func (t Trace) traceparent() string {
	b := hex.AppendEncode([]byte("00-"), t.ID[:])
	b = hex.AppendEncode(append(b, '-'), t.Span[:])
	return string(append(b, "-01"...))
}

// traced is the request with the trace of its visitor's wait, where that is among the share that is traced and the
// caller has none.
func traced(r *http.Request, c *Claims, share float64) *http.Request {
	if share == 0 || len(r.Header["Traceparent"]) > 0 {
		return r
	}
	t := TraceOf(c.Item, c.Visitor, c.Generation)
	if !t.Sampled(share) {
		return r
	}
	next := *r
	next.Header = r.Header.Clone()
	next.Header.Set("Traceparent", t.traceparent())
	return &next
}
