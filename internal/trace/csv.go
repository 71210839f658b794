package trace

import (
	"bytes"
	"encoding/csv"

	"github.com/sluicehq/sluice/queue"
)

const csvHeader = "t_ms,visitor,item"

// csvLine reads `t_ms,visitor,item`.
func (b *builder) csvLine(line []byte) refusal {
	if bytes.IndexByte(line, '"') >= 0 {
		return b.quotedLine(line)
	}
	i := bytes.IndexByte(line, ',')
	j := bytes.LastIndexByte(line, ',')
	if i < 0 || i == j || bytes.IndexByte(line[i+1:j], ',') >= 0 {
		return "it must have three fields: t_ms,visitor,item"
	}
	return b.csvFields(line[:i], line[i+1:j], line[j+1:])
}

// quotedLine reads a line with quoted fields.
func (b *builder) quotedLine(line []byte) refusal {
	fields, err := csv.NewReader(bytes.NewReader(line)).Read()
	if err != nil {
		return "its quotes do not close"
	}
	if len(fields) != 3 {
		return "it must have three fields: t_ms,visitor,item"
	}
	return b.csvFields([]byte(fields[0]), []byte(fields[1]), []byte(fields[2]))
}

func (b *builder) csvFields(t, visitor, item []byte) refusal {
	ms, why := millis(t)
	if why != "" {
		return why
	}
	i, why := b.item(item, csvItem)
	if why != "" {
		return why
	}
	v, why := b.visitor(visitor)
	if why != "" {
		return why
	}
	b.add(ms, v, i)
	return ""
}

func csvItem(text string) (queue.Item, refusal) {
	item, err := queue.ParseItem(text)
	if err != nil {
		return "", "the item must be 1 to 128 characters of A-Z a-z 0-9 . _ ~ : @ -"
	}
	return item, ""
}

// millis reads whole ms since 1970, up to the year 9999.
func millis(t []byte) (int64, refusal) {
	if len(t) > 1 && t[0] == '-' && digits(t[1:]) {
		return 0, "t_ms is negative"
	}
	if !digits(t) {
		return 0, "t_ms is no whole number of ms since 1970"
	}
	ms := int64(0)
	for _, c := range t {
		if ms = ms*10 + int64(c-'0'); ms > latestMS {
			return 0, "t_ms is beyond the year 9999"
		}
	}
	return ms, ""
}

func digits(t []byte) bool {
	for _, c := range t {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(t) > 0
}
