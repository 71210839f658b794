package trace

import (
	"bytes"
	"time"

	"github.com/sluicehq/sluice/internal/itempattern"
	"github.com/sluicehq/sluice/queue"
)

// logLine reads a line of the common or combined log format:
//
//	visitor ident user [01/Aug/1995:02:00:00 -0400] "GET /path?query HTTP/1.0" 200 1713 …
//
// The first field is the visitor, the request target up to a query or a fragment the item. Every method and status
// counts.
func (b *builder) logLine(line []byte) refusal {
	name, rest, ok := bytes.Cut(line, []byte{' '})
	if !ok {
		return "it is no line of an access log"
	}
	i := bytes.IndexByte(rest, '[')
	if i < 0 || len(rest) < i+len("[01/Aug/1995:02:00:00 -0400] \"") || rest[i+27] != ']' {
		return "it has no [time] as in [01/Aug/1995:02:00:00 -0400]"
	}
	ms, ok := b.second.parse(rest[i+1 : i+27])
	if !ok {
		return "its [time] does not exist"
	}
	if ms < 0 {
		return "its [time] is before 1970"
	}
	target, why := requestTarget(rest[i+28:])
	if why != "" {
		return why
	}
	item, why := b.item(target, b.pathItem)
	if why != "" {
		return why
	}
	visitor, why := b.visitor(name)
	if why != "" {
		return why
	}
	b.add(ms, visitor, item)
	return ""
}

// requestTarget reads ` "GET /path?query HTTP/1.0" 200 …`.
func requestTarget(rest []byte) ([]byte, refusal) {
	const no = "it has no request in quotes"
	if !bytes.HasPrefix(rest, []byte(` "`)) {
		return nil, no
	}
	rest = rest[2:]
	end := bytes.IndexByte(rest, '"')
	for end > 0 && rest[end-1] == '\\' { // Apache writes a quote as \"
		next := bytes.IndexByte(rest[end+1:], '"')
		if next < 0 {
			return nil, no
		}
		end += 1 + next
	}
	if end < 0 {
		return nil, no
	}
	request, status := rest[:end], rest[end+1:]
	if len(status) < 4 || status[0] != ' ' || !digits(status[1:4]) || len(status) > 4 && status[4] != ' ' {
		return nil, "it has no status behind the request"
	}
	method, target, ok := bytes.Cut(request, []byte{' '})
	if !ok || !upper(method) {
		return nil, "its request is not METHOD target"
	}
	if i := bytes.IndexAny(target, " ?#"); i >= 0 {
		target = target[:i]
	}
	if len(target) == 0 {
		return nil, "its request has no path"
	}
	return target, ""
}

func upper(b []byte) bool {
	for _, c := range b {
		if c < 'A' || c > 'Z' {
			return false
		}
	}
	return len(b) > 0
}

func (b *builder) pathItem(path string) (queue.Item, refusal) {
	if item, ok := b.o.Patterns.Item(path); ok {
		return item, ""
	}
	return itempattern.Encode(path), ""
}

// second reads the time of a log line. Lines of one second follow one another, so the last one is kept.
type second struct {
	text [26]byte
	ms   int64
}

func (s *second) parse(text []byte) (int64, bool) {
	if string(text) == string(s.text[:]) {
		return s.ms, true
	}
	const layout = "02/Jan/2006:15:04:05 -0700"
	// time.Parse takes one-digit days and lower-case months too; logs never write them, and the length is fixed.
	t, err := time.Parse(layout, string(text))
	if err != nil {
		return 0, false
	}
	copy(s.text[:], text)
	s.ms = t.UnixMilli()
	return s.ms, true
}
