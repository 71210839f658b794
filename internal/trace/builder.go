package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/sluicehq/sluice/queue"
)

const (
	longestLine  = 64 << 10
	mostNamed    = 20
	longestName  = 256 // bytes of a visitor
	latestMS     = 253_402_300_799_999
	progressEach = 1 << 16 // lines
)

// builder gathers the events of all files.
type builder struct {
	o        Options
	trace    Trace
	visitors map[string]uint32
	items    map[string]uint32 // by the text in the file: many paths may be one item
	byItem   map[queue.Item]uint32
	second   second

	// Of the file that is read.
	file  string
	line  int64
	named int
}

func newBuilder(o Options) *builder {
	return &builder{o: o, visitors: map[string]uint32{}, items: map[string]uint32{}, byItem: map[queue.Item]uint32{}}
}

// refusal is why a line is no event.
type refusal string

// read reads one stream to its end.
func (b *builder) read(name string, r io.Reader) error {
	b.file, b.line, b.named = name, 0, 0
	in := bufio.NewReaderSize(r, longestLine)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return fmt.Errorf("%s: the gzip header cannot be read: %w", name, err)
		}
		in = bufio.NewReaderSize(z, longestLine)
	}
	if bom, _ := in.Peek(3); bytes.Equal(bom, []byte("\xef\xbb\xbf")) {
		in.Discard(3)
	}
	return b.readLines(in)
}

func (b *builder) readLines(in *bufio.Reader) error {
	var parse func([]byte) refusal
	for {
		line, err := in.ReadSlice('\n')
		if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			return b.cut(err)
		}
		b.line++
		if b.o.Progress != nil && b.line%progressEach == 0 {
			b.o.Progress(b.file, b.line)
		}
		if err == bufio.ErrBufferFull {
			for err == bufio.ErrBufferFull {
				_, err = in.ReadSlice('\n')
			}
			b.refuse("it is longer than 64 KiB")
			continue
		}
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case len(line) == 0:
		case parse == nil:
			var refused error
			if parse, refused = b.recognise(line); refused != nil {
				return refused
			}
		default:
			if why := parse(line); why != "" {
				b.refuse(why)
			}
		}
		if err == io.EOF {
			break
		}
	}
	switch {
	case parse != nil:
	case b.named > 0:
		return fmt.Errorf("%s: neither the header %s nor a line of an access log is in it", b.file, csvHeader)
	default:
		b.problem(0, "it is empty")
	}
	return nil
}

// recognise tells the format by the first line that shows it, and takes that line in.
func (b *builder) recognise(line []byte) (func([]byte) refusal, error) {
	switch {
	case string(line) == csvHeader:
		return b.csvLine, nil
	case bytes.IndexByte(line, '[') < 0 && bytes.Count(line, []byte{','}) >= 2:
		return nil, fmt.Errorf("%s: line %d: the header %s is missing; a CSV trace begins with it", b.file, b.line, csvHeader)
	}
	why := b.logLine(line)
	if why == "" {
		return b.logLine, nil
	}
	b.refuse(why) // a log may begin in the middle of a line
	return nil, nil
}

// cut deals with a stream that cannot be read to its end: what was read counts, and the cut is named.
func (b *builder) cut(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		b.trace.Skipped++
		b.problem(b.line+1, "the gzip data is cut off here; what stands before it is used")
		return nil
	}
	return fmt.Errorf("%s: line %d: %w", b.file, b.line+1, err)
}

// refuse skips the line that is read.
func (b *builder) refuse(why refusal) {
	b.trace.Skipped++
	b.problem(b.line, string(why))
}

func (b *builder) problem(line int64, why string) {
	if b.named++; b.named > mostNamed {
		return
	}
	b.trace.Problems = append(b.trace.Problems, Problem{b.file, line, why})
}

func (b *builder) add(ms int64, visitor, item uint32) {
	b.trace.Events = append(b.trace.Events, Event{MS: ms, Visitor: visitor, Item: item})
}

// visitor gives the number of a visitor's name; known names cost no allocation.
func (b *builder) visitor(name []byte) (uint32, refusal) {
	if i, ok := b.visitors[string(name)]; ok {
		return i, ""
	}
	if len(name) == 0 || len(name) > longestName {
		return 0, "the visitor must have 1 to 256 bytes"
	}
	i := uint32(len(b.trace.Visitors))
	text := string(name)
	b.visitors[text] = i
	b.trace.Visitors = append(b.trace.Visitors, text)
	return i, ""
}

// item gives the number of the item that a text stands for. make turns a text not seen before into an item.
func (b *builder) item(text []byte, make func(string) (queue.Item, refusal)) (uint32, refusal) {
	if i, ok := b.items[string(text)]; ok {
		return i, ""
	}
	item, why := make(string(text))
	if why != "" {
		return 0, why
	}
	i, ok := b.byItem[item]
	if !ok {
		i = uint32(len(b.trace.Items))
		b.byItem[item] = i
		b.trace.Items = append(b.trace.Items, item)
	}
	b.items[string(text)] = i
	return i, ""
}
