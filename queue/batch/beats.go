package batch

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/internal/recent"
	"github.com/sluicehq/sluice/queue"
)

const (
	// mostBeats is the most beats of one call of the line.
	mostBeats = 200
	// mostPending bounds the beats that wait for the store; past it heartbeats are dropped (a later poll beats again).
	mostPending = 500_000
	// keepGone is how long a place that is gone is remembered at least: longer than from one poll to the next.
	keepGone = time.Minute
)

// toucher is the part of a line that Beats needs.
type toucher interface {
	Touch(ctx context.Context, item queue.Item, beats []queue.Beat) (queue.TouchReport, error)
}

// Beats gathers the signs of life of waiting and running visitors, sends them in batches at each Flush, and remembers
// who turned out to be gone.
type Beats struct {
	line toucher
	// Seen, where set, gets the headers that the answers bring.
	Seen func(queue.Header)
	// Told, where set, gets each end of passes that an answer brings and that was news here: it may be to other nodes too.
	Told func(item queue.Item, v queue.Visitor, untilMS int64)
	// Ends is what is remembered of ended places and passes.
	Ends

	mu      sync.Mutex
	pending map[queue.Item]map[queue.Visitor]queue.Beat
	size    int
	dropped atomic.Int64

	gone *recent.Map[place, struct{}] // places that a heartbeat did not find
}

// NewBeats returns an empty gatherer of the line's beats.
func NewBeats(line toucher) *Beats {
	return &Beats{
		line: line, pending: map[queue.Item]map[queue.Visitor]queue.Beat{},
		gone: recent.New[place, struct{}](mostKept, keepGone), Ends: newEnds(),
	}
}

// Heard notes that a waiting visitor polled.
func (b *Beats) Heard(item queue.Item, v queue.Visitor) {
	b.add(item, queue.Beat{Kind: queue.Heard, Visitor: v})
}

// Renew notes that a request of a visitor inside showed a pass or got one: Generation, IssuedMS and EndsMS are those of
// the newest.
func (b *Beats) Renew(item queue.Item, beat queue.Beat) {
	beat.Kind, beat.Requests = queue.Renew, 1
	b.add(item, beat)
}

func (b *Beats) add(item queue.Item, beat queue.Beat) {
	b.mu.Lock()
	defer b.mu.Unlock()
	of := b.pending[item]
	if of == nil {
		of = map[queue.Visitor]queue.Beat{}
		b.pending[item] = of
	}
	old, had := of[beat.Visitor]
	if !had {
		if b.size >= mostPending && beat.Kind == queue.Heard {
			b.dropped.Add(1)
			return
		}
		b.size++
		of[beat.Visitor] = beat
		return
	}
	of[beat.Visitor] = merged(old, beat)
}

// merged is the one beat that says what two said.
func merged(old, beat queue.Beat) queue.Beat {
	newest := beat
	if old.Kind == queue.Renew && (beat.Kind == queue.Heard || old.EndsMS > beat.EndsMS) {
		newest = old
	}
	newest.Requests = old.Requests + beat.Requests
	return newest
}

// Gone reports, once, that a heartbeat found the visitor's place gone: the next poll has to ask the store.
func (b *Beats) Gone(item queue.Item, v queue.Visitor) bool {
	_, ok := b.gone.Take(place{item, v})
	return ok
}

// Dropped counts the heartbeats that found no room.
func (b *Beats) Dropped() int64 { return b.dropped.Load() }

// Flush sends what has gathered. What could not be sent is kept for the next Flush; the first error is returned.
func (b *Beats) Flush(ctx context.Context) error {
	b.mu.Lock()
	due := b.pending
	b.pending, b.size = map[queue.Item]map[queue.Visitor]queue.Beat{}, 0
	b.mu.Unlock()
	var first error
	for item, of := range due {
		beats := make([]queue.Beat, 0, min(len(of), mostBeats))
		for _, beat := range of {
			beats = append(beats, beat)
			if len(beats) == mostBeats {
				first = b.send(ctx, item, beats, first)
				beats = beats[:0]
			}
		}
		if len(beats) > 0 {
			first = b.send(ctx, item, beats, first)
		}
	}
	return first
}

func (b *Beats) send(ctx context.Context, item queue.Item, beats []queue.Beat, first error) error {
	// While the store is away the rest is kept without trying; an item's own error is that item's.
	if !errors.Is(first, queue.ErrStoreDown) {
		report, err := b.line.Touch(ctx, item, beats)
		if err == nil {
			b.took(item, beats, report)
			return first
		}
		if !errors.Is(err, queue.ErrStoreDown) {
			return cmp.Or(first, err)
		}
		first = err
	}
	for _, beat := range beats {
		b.add(item, beat)
	}
	return first
}

func (b *Beats) took(item queue.Item, beats []queue.Beat, report queue.TouchReport) {
	for _, i := range report.Missing {
		b.gone.Put(place{item, beats[i].Visitor}, struct{}{})
	}
	for _, e := range report.Ended {
		beat := beats[e.Beat]
		news := !b.PassEnded(item, beat.Visitor, e.UntilMS)
		b.EndPass(item, beat.Visitor, e.UntilMS)
		// All nodes know of the generations that have ended.
		if news && b.Told != nil && beat.Generation >= report.Header.PassesFrom {
			b.Told(item, beat.Visitor, e.UntilMS)
		}
	}
	if b.Seen != nil {
		b.Seen(report.Header)
	}
}
