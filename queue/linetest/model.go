package linetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/memline"
	"pgregory.net/rapid"
)

// Model compares a line with the one in this process: the same calls in the same order at the same virtual time must
// get the same answers, leave the same counts and every visitor at the same position, and break no invariant. Epochs
// and versions are each line's own. The flags of rapid say how long (-rapid.checks, -rapid.steps).
func Model(t *testing.T, newReal func(c clock.Clock) Line) {
	rapid.Check(t, func(t *rapid.T) {
		c := clock.At(noon)
		m := &machine{
			clock: c, real: newReal(c), model: memline.New(memline.Options{Clock: c}), item: "sku-1",
			places: map[queue.Visitor]int64{}, passes: map[queue.Visitor]queue.Admission{},
			tickets: map[queue.Visitor]tickets{},
		}
		m.limits = drawLimits(t)
		t.Repeat(map[string]func(*rapid.T){
			"":         m.check,
			"ask":      m.ask,
			"ask more": m.ask,
			"at once":  m.atOnce,
			"touch":    m.touch,
			"end":      m.end,
			"recall":   m.recall,
			"step":     m.step,
			"steps":    m.steps,
			"switch":   m.switchTo,
			"limits":   m.change,
			"time":     m.pass,
			"silence":  m.silence,
		})
	})
}

// crowd is how many visitors take part; few, so that they meet.
const crowd = 12

// tickets are what the two lines gave for the same place: alike but for the epoch.
type tickets struct{ real, model queue.Ticket }

// machine is the two lines side by side, and what the invariants need to know of the past.
type machine struct {
	clock       *clock.Hand
	real, model Line
	item        queue.Item
	limits      queue.Limits
	tickets     map[queue.Visitor]tickets
	passes      map[queue.Visitor]queue.Admission
	passGen     queue.Generation

	gen    queue.Generation
	places map[queue.Visitor]int64 // score by visitor at the last look, for place-keeps
	spans  []span                  // admissions by the rate, for exact-inflow
	rate   float64                 // the highest inflow while spans were gathered
}

type span struct {
	us int64
	n  int
}

func drawLimits(t *rapid.T) queue.Limits {
	return queue.Limits{
		Version: 1, Inflow: rapid.SampledFrom([]float64{0, 1. / 3, 0.7, 1, 5, 12.5}).Draw(t, "inflow"),
		MaxActive: rapid.SampledFrom([]int64{0, 0, 1, 3, 6}).Draw(t, "max active"), SessionMS: 60_000, SessionRenewal: true,
		ClaimMS:    rapid.SampledFrom([]int64{10_000, 40_000}).Draw(t, "claim"),
		AbandonMS:  40_000,
		ReturnMS:   600_000,
		MaxWaiting: rapid.SampledFrom([]int64{0, 0, 5}).Draw(t, "max waiting"), Random: rapid.Bool().Draw(t, "random"),
		Auto: rapid.Bool().Draw(t, "auto"), Hold: rapid.IntRange(0, 5).Draw(t, "hold") == 5, ReleaseAfterMS: 20_000, ReleaseRatio: 0.5,
		Trigger: queue.Trigger{Requests: 500, WindowMS: 10_000},
	}
}

func drawVisitor(t *rapid.T) queue.Visitor {
	return visitor(rapid.IntRange(0, crowd-1).Draw(t, "visitor"))
}

// both calls the two lines and compares what they say; normal makes alike what may differ.
func both[R any](t *rapid.T, m *machine, what string, call func(Line) (R, error), normal func(*R)) (real, model R) {
	real, errReal := call(m.real)
	model, errModel := call(m.model)
	if (errReal == nil) != (errModel == nil) || errors.Is(errReal, queue.ErrWrongState) != errors.Is(errModel, queue.ErrWrongState) {
		t.Fatalf("%s: error %v, the model's %v", what, errReal, errModel)
	}
	if errModel != nil {
		return real, model
	}
	a, b := real, model
	normal(&a)
	normal(&b)
	if differ := differences(a, b); differ != "" {
		t.Fatalf("%s%s", what, differ)
	}
	return real, model
}

// differences names the fields in which the answers of the line and of the model differ; "" = none.
func differences(line, model any) string {
	var out strings.Builder
	a, b := reflect.ValueOf(line), reflect.ValueOf(model)
	for i := range a.NumField() {
		if x, y := a.Field(i).Interface(), b.Field(i).Interface(); !reflect.DeepEqual(x, y) {
			fmt.Fprintf(&out, "\n  %s:\n    line  %+v\n    model %+v", a.Type().Field(i).Name, x, y)
		}
	}
	return out.String()
}

// plain takes from a header what each line has of its own. Of a queue that is off only that is compared: how long its
// header stays goes by the store's own clock.
func plain(h *queue.Header) {
	h.Epoch, h.Version = 0, 0
	if !h.On() {
		*h = queue.Header{Item: h.Item}
	}
	if h.Override != nil {
		h.By = fmt.Sprint(h.By, " override ", *h.Override)
		h.Override = nil
	}
}

func list[E any](s *[]E) {
	if len(*s) == 0 {
		*s = nil
	}
}

func (m *machine) ask(t *rapid.T) {
	n := rapid.IntRange(1, 5).Draw(t, "asks")
	a, b := make([]queue.Ask, n), make([]queue.Ask, n)
	for i := range n {
		a[i], b[i] = m.drawAsk(t)
	}
	m.asked(t, a, b)
}

// drawAsk makes the same ask for both lines, each with the ticket that it gave itself.
func (m *machine) drawAsk(t *rapid.T) (real, model queue.Ask) {
	v := drawVisitor(t)
	real = queue.Ask{Visitor: v, Create: rapid.IntRange(0, 3).Draw(t, "create") > 0, Lot: lot(v)}
	if real.Peek = rapid.IntRange(0, 5).Draw(t, "peek") == 0; real.Peek {
		real.Create = false
	}
	if rapid.IntRange(0, 5).Draw(t, "mark") == 0 {
		real.MarkMS = m.clock.Now().UnixMilli() - rapid.Int64Range(0, 80_000).Draw(t, "mark before")
	}
	model = real
	if ts, ok := m.tickets[v]; ok && rapid.Bool().Draw(t, "ticket") {
		real.Ticket, model.Ticket = &ts.real, &ts.model
	}
	return real, model
}

func (m *machine) asked(t *rapid.T, forReal, forModel []queue.Ask) {
	real, model := both(t, m, fmt.Sprintf("ask %+v", forReal), func(l Line) (queue.Answers, error) {
		if l == m.model {
			return l.Ask(t.Context(), m.item, forModel)
		}
		return l.Ask(t.Context(), m.item, forReal)
	}, func(r *queue.Answers) {
		if plain(&r.Header); !r.Header.On() {
			r.Counts = queue.Counts{}
		}
	})
	at := 0
	for i, a := range real.Answers {
		v := forReal[i].Visitor
		switch a.Outcome {
		case queue.Waiting:
			t := queue.Ticket{Generation: real.Header.Generation, Epoch: real.Header.Epoch, Score: a.Score, IssuedMS: real.NowMS}
			u := t
			u.Epoch = model.Header.Epoch
			m.tickets[v] = tickets{t, u}
		case queue.Inside:
			if a.Admission.ClaimedMS > 0 {
				m.passes[v], m.passGen = a.Admission, real.Header.Generation
			}
			if a.New && a.Admission.Kind == queue.Let {
				at++
			}
		}
	}
	m.note(at, real.Header)
}

// atOnce has several ask at the same time, each for a newcomer or one who is there. In which order they come is the
// line's affair, so only what holds in any order is compared.
func (m *machine) atOnce(t *rapid.T) {
	m.step(t) // brings the limits
	if l, _ := m.model.Look(t.Context(), m.item); m.limits.MaxWaiting > 0 || l.Header.State != queue.Paused {
		return
	}
	var vs []queue.Visitor
	for range rapid.IntRange(2, 4).Draw(t, "clients") {
		vs = append(vs, drawVisitor(t))
	}
	var wg sync.WaitGroup
	errs := make([]error, len(vs))
	for i, v := range vs {
		wg.Go(func() {
			_, errs[i] = m.real.Ask(t.Context(), m.item, []queue.Ask{{Visitor: v, Create: true}})
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	// The model follows in the order that the line chose.
	order := make(map[queue.Visitor]int64)
	for _, v := range vs {
		f, err := m.real.Find(t.Context(), m.item, v)
		if err != nil {
			t.Fatal(err)
		}
		order[v] = f.Score
	}
	slices.SortStableFunc(vs, func(a, b queue.Visitor) int { return int(order[a] - order[b]) })
	for _, v := range vs {
		if _, err := m.model.Ask(t.Context(), m.item, []queue.Ask{{Visitor: v, Create: true}}); err != nil {
			t.Fatal(err)
		}
	}
}

func (m *machine) touch(t *rapid.T) {
	var beats []queue.Beat
	for range rapid.IntRange(1, 4).Draw(t, "beats") {
		b := queue.Beat{Kind: queue.Heard, Visitor: drawVisitor(t)}
		if pass, ok := m.passes[b.Visitor]; ok && rapid.Bool().Draw(t, "renew") {
			b.Kind, b.Generation, b.IssuedMS, b.EndsMS = queue.Renew, m.passGen, pass.IssuedMS, pass.PassEndsMS
			if rapid.Bool().Draw(t, "renewed elsewhere") {
				b.IssuedMS = m.clock.Now().UnixMilli() / 1000 * 1000
				b.EndsMS = b.IssuedMS + m.limits.SessionMS
			}
		}
		beats = append(beats, b)
	}
	m.touched(t, beats)
}

func (m *machine) touched(t *rapid.T, beats []queue.Beat) {
	both(t, m, fmt.Sprintf("touch %+v", beats), func(l Line) (queue.TouchReport, error) {
		return l.Touch(t.Context(), m.item, beats)
	}, func(r *queue.TouchReport) { plain(&r.Header); list(&r.Missing); list(&r.Ended) })
}

func (m *machine) end(t *rapid.T) {
	e := queue.Ending{Kind: rapid.SampledFrom([]queue.EndKind{queue.Leave, queue.Finish, queue.Revoke}).Draw(t, "kind"), Visitor: drawVisitor(t)}
	both(t, m, fmt.Sprintf("end %c %s", e.Kind, e.Visitor), func(l Line) (queue.EndReport, error) {
		return l.End(t.Context(), m.item, e)
	}, func(r *queue.EndReport) { plain(&r.Header) })
}

// recall gives marks back: of a ticket that the visitor holds, of all up to now, or of another generation.
func (m *machine) recall(t *rapid.T) {
	var marks []queue.Mark
	generation := m.gen - queue.Generation(rapid.IntRange(0, 3).Draw(t, "generation before")/3)
	for range rapid.IntRange(1, 3).Draw(t, "marks") {
		mark := queue.Mark{Visitor: drawVisitor(t), Score: -1, UntilMS: -1}
		switch rapid.IntRange(0, 2).Draw(t, "tickets") {
		case 1:
			mark.Score = m.tickets[mark.Visitor].real.Score
		case 2:
			mark.Score = m.clock.Now().UnixMicro()
		}
		if rapid.Bool().Draw(t, "passes") {
			mark.UntilMS = m.clock.Now().UnixMilli() - rapid.Int64Range(0, 20_000).Draw(t, "ended before")
		}
		marks = append(marks, mark)
	}
	both(t, m, fmt.Sprintf("recall %+v", marks), func(l Line) (queue.RecallReport, error) {
		return l.Recall(t.Context(), m.item, queue.RecallOrder{Generation: generation, Marks: marks})
	}, func(r *queue.RecallReport) { plain(&r.Header) })
}

// step steps until there is nothing more to do: how the work is cut into calls is each line's affair.
func (m *machine) step(t *rapid.T) {
	o := queue.StepOrder{
		Limits: m.limits, Most: rapid.SampledFrom([]int{1, 3, 300, 300}).Draw(t, "most"),
		TickMS: rapid.SampledFrom([]int64{0, 250}).Draw(t, "tick"),
	}
	before, _ := m.model.Look(t.Context(), m.item)
	real, _ := both(t, m, fmt.Sprintf("step %+v", o), func(l Line) (queue.StepReport, error) {
		var sum queue.StepReport
		for first := true; first || sum.More; first = false {
			r, err := l.Step(t.Context(), m.item, o)
			if err != nil {
				return r, err
			}
			r.Admitted = append(sum.Admitted, r.Admitted...)
			r.NoShow, r.Finished, r.Abandoned = r.NoShow+sum.NoShow, r.Finished+sum.Finished, r.Abandoned+sum.Abandoned
			if sum.Released {
				r.Released, r.Reason = true, sum.Reason
			}
			sum = r
		}
		return sum, nil
	}, func(r *queue.StepReport) {
		plain(&r.Header)
		list(&r.Admitted)
		r.DueMS, r.Requests, r.Missing = 0, 0, false
		if !r.Header.On() {
			r.LastScore, r.NowMS, r.Counts = 0, 0, queue.Counts{}
		}
	})
	if before.Debt == 0 {
		m.note(len(real.Admitted), real.Header)
	} else {
		m.spans = nil // what is ordered by hand knows no rate
	}
	for i := 1; i < len(real.Admitted); i++ {
		if real.Admitted[i].Score < real.Admitted[i-1].Score {
			t.Fatalf("arrival-order: %+v", real.Admitted)
		}
	}
}

// steps lets a few seconds pass as they do for a mover, in which everybody who waits is heard.
func (m *machine) steps(t *rapid.T) {
	for range rapid.IntRange(2, 8).Draw(t, "ticks") {
		m.clock.Add(250 * time.Millisecond)
		m.step(t)
	}
	m.hearAllBut(t, "")
}

func (m *machine) switchTo(t *rapid.T) {
	o := queue.SwitchOrder{
		Action: rapid.SampledFrom(append(actions, queue.Activate, queue.Activate, queue.Gather, queue.Admit, queue.Resume)).Draw(t, "action"),
		Limits: m.limits,
		Cause:  rapid.SampledFrom([]queue.Cause{queue.ByOperator, queue.ByOperator, queue.ByDetector, queue.BySale, queue.ByMode}).Draw(t, "cause"),
		By:     "kim", Trip: queue.Trip{Measure: 7.5, Trigger: 7}, Reserved: rapid.Int64Range(0, 3).Draw(t, "reserved"), Count: rapid.Int64Range(1, 4).Draw(t, "count"),
	}
	switch o.Action {
	case queue.SetInflow:
		if rate := rapid.SampledFrom([]float64{-1, 0, 0.5, 20}).Draw(t, "by hand"); rate >= 0 {
			o.Inflow = &rate
		}
	case queue.Gather:
		o.Cause = queue.BySale
	case queue.Deactivate, queue.Close, queue.Drain, queue.Reset:
		if rapid.IntRange(0, 2).Draw(t, "really") > 0 {
			return // lines that live long are more telling
		}
	}
	both(t, m, fmt.Sprintf("switch %+v", o), func(l Line) (queue.SwitchReport, error) {
		return l.Switch(t.Context(), m.item, o)
	}, func(r *queue.SwitchReport) {
		plain(&r.Header)
		plain(&r.Before)
		if !r.Header.On() {
			r.Counts = queue.Counts{}
		}
	})
	m.spans = nil
}

func (m *machine) change(t *rapid.T) {
	old := m.limits
	m.limits = drawLimits(t)
	m.limits.Version = old.Version + 1
	m.limits.Random = old.Random // a draw that changes its kind midway is no sale's
	m.limits.Auto = old.Auto     // see silence
	m.spans = nil
}

// pass lets time pass, in which everybody who waits is heard.
func (m *machine) pass(t *rapid.T) {
	m.clock.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 999, 250_000, 1_000_000, 5_000_000, 11_000_000}).Draw(t, "µs")) * time.Microsecond)
	m.hearAllBut(t, "")
}

// silence has one visitor say nothing for so long that every part of the line has been looked at twice, and compares
// after it: when which part has its turn is each line's affair, and so is then the instant at which the line is empty,
// from which a release is reckoned. So a run has either silence or releases.
func (m *machine) silence(t *rapid.T) {
	if l, _ := m.model.Look(t.Context(), m.item); m.limits.Auto || !l.Header.On() {
		return // and none while off: the model forgets such an item by the clock in hand, a store by its own
	}
	quiet := drawVisitor(t)
	for second := 0; second < 64; second += 4 {
		m.clock.Add(4 * time.Second)
		if second%16 == 0 {
			m.hearAllBut(t, quiet)
		}
		if second < 40 {
			continue
		}
		for _, l := range []Line{m.real, m.model} {
			for more := true; more; {
				r, err := l.Step(t.Context(), m.item, queue.StepOrder{Limits: m.limits, Most: 300})
				if err != nil {
					t.Fatal(err)
				}
				more = r.More
			}
		}
	}
	m.spans = nil
}

func (m *machine) hearAllBut(t *rapid.T, quiet queue.Visitor) {
	var beats []queue.Beat
	for i := range crowd {
		if v := visitor(i); v != quiet {
			beats = append(beats, queue.Beat{Kind: queue.Heard, Visitor: v})
		}
	}
	m.touched(t, beats)
}

// check compares the whole of both lines and looks for broken invariants.
func (m *machine) check(t *rapid.T) {
	look, _ := both(t, m, "look", func(l Line) (queue.Snapshot, error) { return l.Look(t.Context(), m.item) },
		func(r *queue.Snapshot) {
			plain(&r.Header)
			r.Requests, r.Tokens = 0, 0
			if r.HoldMS <= r.NowMS {
				r.HoldMS = 0
			}
			if !r.Header.On() {
				r.Counts, r.LastScore = queue.Counts{}, 0
			}
		})
	positions := map[int64]queue.Visitor{}
	places := map[queue.Visitor]int64{}
	var inside int64
	for i := range crowd {
		v := visitor(i)
		f, _ := both(t, m, fmt.Sprintf("find %s", v), func(l Line) (queue.Standing, error) { return l.Find(t.Context(), m.item, v) },
			func(r *queue.Standing) { plain(&r.Header) })
		switch f.Outcome {
		case queue.Inside:
			inside++
		case queue.Waiting:
			places[v] = f.Score
			if other, taken := positions[f.Position]; taken && f.Position > 0 {
				t.Fatalf("one-place: %s and %s are both at position %d", v, other, f.Position)
			}
			positions[f.Position] = v
		}
	}
	c := look.Counts
	if int64(len(places)) != c.Waiting || inside > c.Running {
		t.Fatalf("one-place: %d and %d found, counts %+v", len(places), inside, c)
	}
	for p := int64(1); p <= c.Waiting && positions[0] == ""; p++ {
		if positions[p] == "" {
			t.Fatalf("arrival-order: nobody is at position %d of %d", p, c.Waiting)
		}
	}
	if !c.Balanced() && look.Header.On() {
		t.Fatalf("books-balance: %+v", c)
	}
	if broken := m.exact(); broken != "" {
		t.Fatalf("exact-inflow: %s", broken)
	}
	m.kept(t, look, places)
}

// kept checks invariant place-keeps: while a generation lasts a place's score never rises.
func (m *machine) kept(t *rapid.T, look queue.Snapshot, places map[queue.Visitor]int64) {
	if look.Header.Generation == m.gen {
		for v, score := range places {
			if before, ok := m.places[v]; ok && score > before && !m.rejoined(v, score) {
				t.Fatalf("place-keeps: %s had score %d and has %d", v, before, score)
			}
		}
	}
	m.gen, m.places = look.Header.Generation, places
}

// rejoined reports whether the visitor had left in between: the newer place came with a ticket of its own.
func (m *machine) rejoined(v queue.Visitor, score int64) bool {
	return m.tickets[v].real.Score == score
}

// note checks invariant exact-inflow over the admissions of late, while the rate stayed as it is.
func (m *machine) note(n int, h queue.Header) {
	if h.Inflow != m.rate || !h.On() {
		m.rate, m.spans = h.Inflow, nil
	}
	if n > 0 && h.On() { // the header of a queue that went off with this step no longer tells its rate
		m.spans = append(m.spans, span{m.clock.Now().UnixMicro(), n})
	}
}

// exact reports the first span in which more went in than the inflow allows; "" = none.
func (m *machine) exact() string {
	for i := range m.spans {
		n := 0
		for _, s := range m.spans[i:] {
			n += s.n
			if most := m.rate*float64(s.us-m.spans[i].us)/1e6 + m.rate + 1 + 1e-6; float64(n) > most {
				return fmt.Sprintf("%d in %d µs at %g a second", n, s.us-m.spans[i].us, m.rate)
			}
		}
	}
	return ""
}
