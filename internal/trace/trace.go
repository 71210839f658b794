// Package trace reads traffic logs: CSV with the header t_ms,visitor,item, and the common or combined access logs of
// nginx and Apache, plain or gzipped, as one stream in order of time.
package trace

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/sluicehq/sluice/internal/itempattern"
	"github.com/sluicehq/sluice/queue"
)

// Event is one request. Visitor and Item are indices into the Trace's names.
type Event struct {
	MS      int64 // unix ms, UTC
	Visitor uint32
	Item    uint32
}

// Trace is what was read from some files: events in order of time, ties in file order.
type Trace struct {
	Events   []Event
	Visitors []string
	Items    []queue.Item
	Skipped  int64 // lines that are no events
	Problems []Problem
}

// Problem names a line that was skipped, or what is wrong with a file. At most 20 a file are named; Skipped counts all.
type Problem struct {
	File string
	Line int64 // 1 = the first; 0 = the file as a whole
	Why  string
}

// String gives the problem in one line.
func (p Problem) String() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Why)
	}
	return fmt.Sprintf("%s: line %d: %s", p.File, p.Line, p.Why)
}

// Options configures Read.
type Options struct {
	// Patterns turn the path of an access log into an item; a path that none matches, and every path where there are
	// none, is the item as a whole, as written, by itempattern.Encode.
	Patterns itempattern.Patterns
	// Progress is told now and then how many lines of which file were read; nil = nobody.
	Progress func(file string, lines int64)
}

// Read reads the files in their order and puts their events into one order of time. An error says which file could not
// be read at all; lines that are no events are skipped, and named in Problems. What stands before the cut of a file
// that was cut off is used.
func Read(paths []string, o Options) (*Trace, error) {
	b := newBuilder(o)
	for _, path := range paths {
		if err := b.readFile(path); err != nil {
			return nil, err
		}
	}
	return b.finish(), nil
}

// ReadFrom reads one stream, with a name for its problems.
func ReadFrom(name string, r io.Reader, o Options) (*Trace, error) {
	b := newBuilder(o)
	if err := b.read(name, r); err != nil {
		return nil, err
	}
	return b.finish(), nil
}

func (b *builder) readFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err // names the path itself
	}
	defer f.Close()
	return b.read(path, f)
}

// finish sorts, if anything is out of order, and gives the trace.
func (b *builder) finish() *Trace {
	t := &b.trace
	byTime := func(x, y Event) int { return cmp.Compare(x.MS, y.MS) }
	if !slices.IsSortedFunc(t.Events, byTime) {
		slices.SortStableFunc(t.Events, byTime)
	}
	return t
}
