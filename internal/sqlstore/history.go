package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"
	"time"

	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/scheduler/sale"
)

// Missed is the reason of a row that tells of a sale which was over before it could open.
const Missed = "missed"

// Activation is one generation of one item's queue; or one time of a sale that was missed: then it has no generation, and
// was to open at ActivatedAt.
type Activation struct {
	ID          int64
	Item        queue.Item
	Generation  queue.Generation // 0 = none
	Cause       queue.Cause
	By          string
	Grace       bool
	ActivatedAt time.Time
	ReleasedAt  time.Time     // zero = still on
	Reason      string        // of the release
	Counts      *queue.Counts // the books at the end; nil = not known
	Trip        *queue.Trip   // what the detector saw; nil = another cause, or not known
	Line        *LineStory    // at the end; nil = not known
}

// LineStory is how a line was while its queue was on.
type LineStory struct {
	PeakWaiting   int64  `json:"peak_waiting"`
	LongestWaitMS int64  `json:"longest_wait_ms"`
	MedianWaitMS  *int64 `json:"median_wait_ms"` // nil = nobody was let in whose wait is known
}

// LineStoryOf takes from a queue's story what is kept of it.
func LineStoryOf(s queue.Story) LineStory {
	l := LineStory{PeakWaiting: s.PeakWaiting, LongestWaitMS: s.LongestMS}
	if median, ok := s.MedianMS(); ok {
		l.MedianWaitMS = &median
	}
	return l
}

// Activated notes that a queue was turned on, and what the detector saw where whoever tells of it knows. However many
// nodes tell of it: one row (invariant one-activation).
func (t *Tx) Activated(h queue.Header, trip queue.Trip) error {
	saw, err := tripText(trip)
	if err != nil {
		return err
	}
	return t.exec(`INSERT INTO activations
		(item, generation, cause, by_whom, grace, activated_ms, released_ms, reason, counts, trip) VALUES ($1, $2, $3, $4, $5, $6, 0, '', '', $7)
		ON CONFLICT (item, generation) DO UPDATE SET trip = CASE activations.trip WHEN '' THEN excluded.trip ELSE activations.trip END`,
		h.Item, h.Generation, h.Cause, h.By, h.Grace, h.ActivatedMS, saw)
}

// Released notes that a queue was turned off; ended is what there is to tell of it, nil where whoever tells of the
// release does not know. The first word on the end stands, and what is missing is added by whoever has it.
func (t *Tx) Released(h queue.Header, at time.Time, reason string, ended *queue.Ended) error {
	var books, line, saw string
	if ended != nil {
		b, err := json.Marshal(ended.Counts)
		if err != nil {
			return err
		}
		l, err := json.Marshal(LineStoryOf(ended.Story))
		if err != nil {
			return err
		}
		if saw, err = tripText(ended.Story.Trip); err != nil {
			return err
		}
		books, line = string(b), string(l)
	}
	return t.exec(`INSERT INTO activations
		(item, generation, cause, by_whom, grace, activated_ms, released_ms, reason, counts, line, trip) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
		ON CONFLICT (item, generation) DO UPDATE SET
			released_ms = CASE activations.released_ms WHEN 0 THEN excluded.released_ms ELSE activations.released_ms END,
			reason      = CASE activations.reason WHEN '' THEN excluded.reason ELSE activations.reason END,
			counts      = CASE activations.counts WHEN '' THEN excluded.counts ELSE activations.counts END,
			line        = CASE activations.line WHEN '' THEN excluded.line ELSE activations.line END,
			trip        = CASE activations.trip WHEN '' THEN excluded.trip ELSE activations.trip END`,
		h.Item, h.Generation, h.Cause, h.By, h.Grace, h.ActivatedMS, at.UnixMilli(), reason, books, line, saw)
}

// Missed notes that one time of a sale of one item did not happen. Twice is as good as once.
func (t *Tx) Missed(a *sale.Active) error {
	// Its opening stands for a generation, below those that were: no two sales of one item open at one instant.
	return t.exec(`INSERT INTO activations
		(item, generation, cause, by_whom, grace, activated_ms, released_ms, reason, counts) VALUES ($1, $2, $3, $4, $5, $6, $6, $7, '')
		ON CONFLICT (item, generation) DO NOTHING`,
		a.Item, -a.Occurrence.OpensMS, queue.BySale, a.By(), false, a.Occurrence.OpensMS, Missed)
}

func tripText(t queue.Trip) (string, error) {
	if t == (queue.Trip{}) {
		return "", nil
	}
	b, err := json.Marshal(t)
	return string(b), err
}

// HistoryFilter chooses activations. The zero value chooses all.
type HistoryFilter struct {
	Item     queue.Item
	From, To time.Time // activated in [From, To)
	On       bool      // only those that are still on as far as is known
	Before   int64     // of a lower id: the cursor
	Most     int
}

// Activations lists the history, newest first.
func (s *Store) Activations(ctx context.Context, f HistoryFilter) ([]Activation, error) {
	var all []Activation
	err := each(ctx, s.read, `SELECT id, item, generation, cause, by_whom, grace, activated_ms, released_ms, reason, counts, trip, line FROM activations
		WHERE ($1 = '' OR item = $1) AND activated_ms >= $2 AND activated_ms < $3 AND released_ms <= $4 AND id < $5
		ORDER BY id DESC LIMIT $6`,
		[]any{f.Item, unixMS(f.From), orNone(unixMS(f.To)), onOnly(f.On), orNone(f.Before), f.Most},
		func(rows *sql.Rows) error {
			a, err := readActivation(rows)
			all = append(all, a)
			return err
		})
	return all, unavailable("read the history", err)
}

func readActivation(rows *sql.Rows) (Activation, error) {
	var a Activation
	var activated, released int64
	var counts, trip, line string
	if err := rows.Scan(&a.ID, &a.Item, &a.Generation, &a.Cause, &a.By, &a.Grace, &activated, &released, &a.Reason, &counts, &trip, &line); err != nil {
		return a, err
	}
	a.Generation = max(0, a.Generation)
	a.ActivatedAt, a.ReleasedAt = fromMS(activated), fromMS(released)
	for _, part := range []struct {
		text string
		into any
	}{{counts, &a.Counts}, {trip, &a.Trip}, {line, &a.Line}} {
		if part.text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(part.text), part.into); err != nil {
			return a, err
		}
	}
	return a, nil
}

// onOnly is the latest release that is asked for: 0 is that of what is still on.
func onOnly(on bool) int64 {
	if on {
		return 0
	}
	return math.MaxInt64
}

// orNone is an upper bound: 0 bounds nothing.
func orNone(bound int64) int64 {
	if bound == 0 {
		return math.MaxInt64
	}
	return bound
}

// forgetAtOnce bounds the rows that one transaction drops, so that no writer waits long behind it.
const forgetAtOnce = 1000

// Forget drops activations, audit entries and settled times of sales from before an instant, and reports whether there
// may be more to drop.
func (s *Store) Forget(ctx context.Context, before time.Time) (more bool, err error) {
	_, err = s.Change(ctx, func(t *Tx) error {
		// One may last as long as history is kept, and is settled at its end.
		if err := t.exec(`DELETE FROM sale_settled WHERE opens_ms < $1`, 2*unixMS(before)-t.nowMS); err != nil {
			return err
		}
		for table, at := range map[string]string{"activations": "activated_ms", "audit": "at_ms"} {
			got, err := t.tx.ExecContext(t.ctx, `DELETE FROM `+table+` WHERE id IN
				(SELECT id FROM `+table+` WHERE `+at+` < $1 ORDER BY id LIMIT $2)`, unixMS(before), forgetAtOnce)
			if err != nil {
				return err
			}
			n, err := got.RowsAffected()
			if err != nil {
				return err
			}
			more = more || n == forgetAtOnce
		}
		return nil
	})
	return more, err
}
