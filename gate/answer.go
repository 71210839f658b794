package gate

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/sluicehq/sluice/queue"
)

// reply is the body of check, status and events, ready to be written.
type reply struct {
	item    queue.Item
	visitor string // the visitor token
	ticket  string // the ticket, "" = none
	pass    string // the pass, "" = none
	waitURL string
	verdict *verdict
}

// append writes the reply as JSON. By hand, because it is the answer of every check: a field is never left out, zero
// and null included.
func (r *reply) append(b []byte) []byte {
	v := r.verdict
	b = append(b, `{"item":`...)
	b = appendString(b, string(r.item))
	b = append(b, `,"action":"`...)
	b = append(b, v.action...)
	b = append(b, `","reason":"`...)
	b = append(b, v.reason...)
	b = append(b, `","visitor":`...)
	b = appendString(b, r.visitor)
	b = append(b, `,"queue":{"state":"`...)
	b = append(b, v.header.State.String()...)
	b = append(b, `","generation":`...)
	b = strconv.AppendInt(b, int64(v.header.Generation), 10)
	b = append(b, `,"waiting":`...)
	b = strconv.AppendInt(b, v.waiting, 10)
	b = append(b, `},"place":`...)
	if v.action == Wait {
		b = r.appendPlace(b)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"pass":`...)
	if r.pass != "" {
		b = append(b, `{"token":`...)
		b = appendString(b, r.pass)
		b = append(b, `,"expires_at":`...)
		b = appendInstant(b, v.pass.EndsMS)
		b = append(b, '}')
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"retry_after_ms":`...)
	if v.action == Reject && v.retryMS != never {
		b = strconv.AppendInt(b, v.retryMS, 10)
	} else {
		b = append(b, "null"...)
	}
	return append(b, '}', '\n')
}

func (r *reply) appendPlace(b []byte) []byte {
	v := r.verdict
	b = append(b, `{"ticket":`...)
	if r.ticket != "" {
		b = appendString(b, r.ticket)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"position":`...)
	if v.position > 0 {
		b = strconv.AppendInt(b, v.position, 10)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"exact":`...)
	b = strconv.AppendBool(b, v.exact)
	b = append(b, `,"joined_at":`...)
	b = appendInstant(b, v.place.JoinedMS)
	b = append(b, `,"eta_seconds":`...)
	b = appendSeconds(b, v.eta.Known, v.eta.Wait, math.Ceil)
	b = append(b, `,"eta_low_seconds":`...)
	b = appendSeconds(b, v.eta.Known, v.eta.Low, math.Floor)
	b = append(b, `,"eta_high_seconds":`...)
	b = appendSeconds(b, v.eta.Known, v.eta.High, math.Ceil)
	b = append(b, `,"opens_at":`...)
	opens := v.header.OpensMS
	if v.header.State != queue.Prequeue {
		opens = 0
	}
	b = appendInstant(b, opens)
	b = append(b, `,"poll_after_ms":`...)
	b = strconv.AppendInt(b, v.poll.Milliseconds(), 10)
	b = append(b, `,"wait_url":`...)
	b = appendString(b, r.waitURL)
	return append(b, '}')
}

// appendSeconds writes whole seconds; the wait and its upper end are rounded up, so that nobody is told 0 who has
// somebody in front.
func appendSeconds(b []byte, known bool, d time.Duration, round func(float64) float64) []byte {
	if !known {
		return append(b, "null"...)
	}
	return strconv.AppendInt(b, int64(round(d.Seconds())), 10)
}

// appendInstant writes unix milliseconds as RFC 3339 in UTC with milliseconds; null for 0.
func appendInstant(b []byte, ms int64) []byte {
	if ms == 0 {
		return append(b, "null"...)
	}
	b = append(b, '"')
	b = time.UnixMilli(ms).UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	return append(b, '"')
}

// appendString writes a JSON string; what needs no escape, which is nearly all, is copied.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			quoted, _ := json.Marshal(s) // a string always marshals
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
