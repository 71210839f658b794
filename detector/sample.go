package detector

import (
	"context"

	"github.com/sluicehq/sluice/queue"
)

// traffic is the count of all nodes together; redistraffic and memtraffic have it.
//
// Flush adds the samples to what is known of their items, compares each item with its triggers, and turns a queue that
// is off on where one is reached. It answers one Verdict for each item, in any order. A sample that comes again, by
// Node and Seq, counts nothing more: an answer may have been lost. With an error the samples of items without a verdict
// are handed over again later. Safe for concurrent use.
type traffic interface {
	Flush(ctx context.Context, samples []Sample) ([]Verdict, error)
}

// Sample is what one node has counted of one item since its last sample.
type Sample struct {
	Item      queue.Item
	Limits    queue.Limits // with the triggers and the session
	Counts    []Bucket     // requests, oldest first
	Newcomers []Bucket     // visitors without a mark, oldest first
	Active    []queue.Visitor
	Force     bool   // this node's own counts reach a trigger: activate whatever the sum is
	Node      string // who counted
	Seq       int64  // rises with each sample of the node

	takenMS int64 // when the ages were true
}

// Bucket is a count and how long ago it was taken, which no clock of a node can falsify.
type Bucket struct {
	AgeMS int64 // at the call of Flush, >= 0
	N     int64
}

// Requests is how many requests the sample holds.
func (s Sample) Requests() int64 {
	var n int64
	for _, b := range s.Counts {
		n += b.N
	}
	return n
}

// empty reports whether there is nothing in the sample to count.
func (s Sample) empty() bool { return len(s.Counts)+len(s.Newcomers)+len(s.Active) == 0 }

// age lets the ages follow the time, for a sample that is sent again.
func (s *Sample) age(nowMS int64) {
	for _, buckets := range [][]Bucket{s.Counts, s.Newcomers} {
		for i := range buckets {
			buckets[i].AgeMS += max(0, nowMS-s.takenMS)
		}
	}
	s.takenMS = nowMS
}

// Verdict is what became of a sample.
type Verdict struct {
	Item      queue.Item
	Header    queue.Header // of the queue after the flush; zero where there is none
	Activated bool         // this flush turned the queue on; true once for each activation
	Measures               // of all nodes; a measure whose trigger is not set may be 0
	// Err says why this item's sample was refused (its counts are lost); the other items' are not concerned.
	Err error
}
