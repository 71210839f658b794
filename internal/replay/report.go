package replay

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/sluicehq/sluice/internal/trace"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/memline"
)

// Report is what would have happened. Its JSON is a promise to callers.
type Report struct {
	Totals Totals                     `json:"totals"`
	Items  map[queue.Item]*ItemReport `json:"items"` // those that activated
}

// Totals are of the whole trace.
type Totals struct {
	Events       int64 `json:"events"`
	SkippedLines int64 `json:"skipped_lines"`
	Visitors     int64 `json:"visitors"`
	Items        int64 `json:"items"`
}

// ItemReport is one item with its queues.
type ItemReport struct {
	PeakCount   int64        `json:"peak_count"`   // most requests in the window, as the detector counts them
	PeakWaiting int64        `json:"peak_waiting"` // most people in line
	Joined      int64        `json:"joined"`
	Admitted    int64        `json:"admitted"`
	WaitMS      *Wait        `json:"wait_ms"` // null where nobody was admitted
	Activations []Activation `json:"activations"`
}

// Wait says how long the admitted waited, in ms: nearest-rank percentiles, those who did not wait included.
type Wait struct {
	P50 int64 `json:"p50"`
	P95 int64 `json:"p95"`
	Max int64 `json:"max"`
}

// Activation is one queue from its turning on to its release.
type Activation struct {
	ActivatedMS int64  `json:"activated_ms"`
	ReleasedMS  *int64 `json:"released_ms"` // null: it never was
	Grace       int64  `json:"grace"`       // inside when it turned on
	Joined      int64  `json:"joined"`
	Admitted    int64  `json:"admitted"`
	PeakWaiting int64  `json:"peak_waiting"`
}

// report puts together what came of a trace; lineOf gives the line in which an item was.
func report(ctx context.Context, t *trace.Trace, items []*item, lineOf func(*item) *memline.Line) (*Report, error) {
	r := &Report{
		Totals: Totals{int64(len(t.Events)), t.Skipped, int64(len(t.Visitors)), int64(len(t.Items))},
		Items:  map[queue.Item]*ItemReport{},
	}
	for _, it := range items {
		if it == nil || len(it.activations) == 0 {
			continue
		}
		if it.on { // until the end of time
			s, err := lineOf(it).Look(ctx, it.id)
			if err != nil {
				return nil, fmt.Errorf("look at %s: %w", it.id, err)
			}
			a := it.current()
			a.Joined, a.Admitted = s.Counts.Joined, s.Counts.Admitted
		}
		out := &ItemReport{PeakCount: int64(math.Round(it.peak)), WaitMS: waits(it.waits), Activations: it.activations}
		for _, a := range it.activations {
			out.Joined += a.Joined
			out.Admitted += a.Admitted
			out.PeakWaiting = max(out.PeakWaiting, a.PeakWaiting)
		}
		r.Items[it.id] = out
	}
	return r, nil
}

func waits(ms []int64) *Wait {
	if len(ms) == 0 {
		return nil
	}
	slices.Sort(ms)
	rank := func(percent int) int64 { return ms[max(1, (percent*len(ms)+99)/100)-1] }
	return &Wait{P50: rank(50), P95: rank(95), Max: ms[len(ms)-1]}
}

// WriteJSON writes the report for programs: the same bytes for the same report.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(r)
}

// WriteText writes the report for people. Times are UTC.
func (r *Report) WriteText(w io.Writer) error {
	t := r.Totals
	fmt.Fprintf(w, "%d events, %d visitors, %d items", t.Events, t.Visitors, t.Items)
	if t.SkippedLines > 0 {
		fmt.Fprintf(w, "; %d lines skipped", t.SkippedLines)
	}
	fmt.Fprintln(w)
	if len(r.Items) == 0 {
		_, err := fmt.Fprintln(w, "No queue would have turned on.")
		return err
	}
	queues := 0
	ids := make([]queue.Item, 0, len(r.Items))
	for id, it := range r.Items {
		ids = append(ids, id)
		queues += len(it.Activations)
	}
	slices.SortFunc(ids, func(a, b queue.Item) int {
		return cmp.Or(cmp.Compare(r.Items[a].Activations[0].ActivatedMS, r.Items[b].Activations[0].ActivatedMS), cmp.Compare(a, b))
	})
	fmt.Fprintf(w, "%d queues would have turned on, at %d items:\n\n", queues, len(ids))
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "item\ton (UTC)\toff\tinside then\tjoined\tadmitted\tmost in line")
	for _, id := range ids {
		for _, a := range r.Items[id].Activations {
			fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%d\t%d\t%d\n", id, instant(a.ActivatedMS), off(a), a.Grace, a.Joined, a.Admitted, a.PeakWaiting)
		}
	}
	fmt.Fprintln(tw)
	fmt.Fprintln(tw, "item\tpeak count\tadmitted\twait p50\tp95\tmax")
	for _, id := range ids {
		it := r.Items[id]
		if it.WaitMS == nil {
			fmt.Fprintf(tw, "%s\t%d\t0\t-\t-\t-\n", id, it.PeakCount)
			continue
		}
		fmt.Fprintf(tw, "%s\t%d\t%d\t%v\t%v\t%v\n", id, it.PeakCount, it.Admitted, span(it.WaitMS.P50), span(it.WaitMS.P95), span(it.WaitMS.Max))
	}
	return tw.Flush()
}

func instant(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05.000") }

func off(a Activation) string {
	if a.ReleasedMS == nil {
		return "never"
	}
	return "after " + span(*a.ReleasedMS-a.ActivatedMS).String()
}

func span(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
