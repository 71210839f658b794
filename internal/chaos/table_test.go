package chaos_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// row is what came of one fault.
type row struct {
	fault               fault
	span                time.Duration // that the crowd acted
	detected, recovered time.Duration // detected 0 = not by all nodes
	asked               int64
	wrong               int64 // answers that let somebody in who should not be, or that refuse a pass
	over                int64 // people let in beyond the inflow over the whole span and a second's worth
	lost                int   // people who stand behind where they stood, or were overtaken
	grew                int64 // most by which a shown position grew
	doubled             int64
	fives, passFives    int64 // answers of 500 and up, and no answer from any node
	p99                 [phases]time.Duration
	slowest             time.Duration
	events              []string
	seen                map[string]*seen
}

// read takes what the crowd and the operators saw.
func (r *row) read(w *world, first int, struck time.Time) {
	c := w.crowd
	r.seen = c.seen
	for kind, s := range c.seen {
		r.asked += s.Asked
		for _, n := range s.Wrong {
			r.wrong += n
		}
		r.fives += s.Fives + s.Broken
		if kind == "inside" {
			r.passFives += s.Fives + s.Broken
		}
	}
	r.over = max(0, int64(c.inside()-first)-int64(inflow*r.span.Seconds())-inflow-1)
	var since time.Time
	if r.fault.lossy { // an admission that was lost before anybody heard of it is a place at the head again
		since = struck
	}
	overtaken, later, grew := c.overtaken(since)
	r.lost, r.grew, r.doubled = max(overtaken, later), grew, w.doubled()
	for i, h := range c.took {
		r.p99[i] = time.Duration(h.ValueAtQuantile(99)) * time.Microsecond
		r.slowest = max(r.slowest, time.Duration(h.Max())*time.Microsecond)
	}
	for _, kind := range []string{"store.down", "store.up", "store.restored"} {
		if n := w.told(kind); n > 0 {
			r.events = append(r.events, fmt.Sprintf("%s ×%d", kind, n))
		}
	}
}

// check says what does not hold.
func (r *row) check(t *testing.T) {
	t.Helper()
	grew, fives := r.grew, r.fives
	if r.fault.lossy {
		grew = 0
	}
	if r.fault.nobody {
		fives = 0
	}
	for _, c := range []struct {
		what string
		n    int64
	}{
		{"answers that no such visitor may get", r.wrong}, {"people let in beyond the inflow", r.over}, {"places lost", int64(r.lost)},
		{"places by which a position grew", grew}, {"people who wait and are inside", r.doubled}, {"answers of 5xx, or none", fives},
	} {
		if c.n != 0 {
			t.Errorf("%d %s", c.n, c.what)
		}
	}
	if t.Failed() {
		for kind, s := range r.seen {
			t.Logf("%s: %+v", kind, *s)
		}
	}
	if !r.fault.unnoticed && (r.detected == 0 || r.detected > r.fault.down) {
		t.Errorf("all nodes found the store down after %v, want at most %v (0 = not all did)", r.detected, r.fault.down)
	}
	if r.recovered > r.fault.back {
		t.Errorf("well again after %v, want at most %v", r.recovered, r.fault.back)
	}
	if r.p99[known] > 150*time.Millisecond {
		t.Errorf("p99 once the store was known to be down: %v, want at most 150 ms", r.p99[known])
	}
	if r.fault.nobody {
		return
	}
	if r.p99[struck] > 600*time.Millisecond {
		t.Errorf("p99 until then: %v, want at most 600 ms", r.p99[struck])
	}
	if r.slowest > 2*time.Second {
		t.Errorf("the slowest answer took %v", r.slowest)
	}
}

// tabled is the rows as a table in Markdown, and what each fault is.
func tabled(rows []row) string {
	var b strings.Builder
	b.WriteString("| fault | requests | wrong | lost | doubled | 5xx | found down after | well after | p99 until found, then | events |\n| --- " + strings.Repeat("| ---: ", 8) + "| --- |\n")
	for _, r := range rows {
		found := "–"
		if r.detected > 0 && !r.fault.unnoticed {
			found = short(r.detected)
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %s | %s | %s, %s | %s |\n", r.fault.name, r.asked, r.wrong+r.over, r.lost, r.doubled, r.fives,
			found, short(r.recovered), short(r.p99[struck]), short(r.p99[known]), cmp.Or(strings.Join(r.events, ", "), "–"))
	}
	b.WriteString("\nWhat the faults are, and what the crowd was answered:\n\n")
	for _, r := range rows {
		answers := map[string]int64{}
		for _, s := range r.seen {
			for what, n := range s.Answers {
				answers[what] += n
			}
		}
		var all []string
		for _, what := range slices.Sorted(maps.Keys(answers)) {
			all = append(all, fmt.Sprintf("%d `%s`", answers[what], what))
		}
		fmt.Fprintf(&b, "- **%s**: %s. Answers: %s.\n", r.fault.name, r.fault.what, strings.Join(all, ", "))
	}
	return b.String()
}

func short(d time.Duration) string {
	switch {
	case d == 0:
		return "–"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// The table stands between these in the page.
const from, to = "<!-- made by make chaos -->\n", "<!-- end -->\n"

// renewed is a page with its table made anew.
func renewed(page string, rows []row) string {
	head, rest, _ := strings.Cut(page, from)
	_, tail, _ := strings.Cut(rest, to)
	return head + from + tabled(rows) + to + tail
}
