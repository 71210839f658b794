package linetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/queue"
)

// stand is one line under test, its clock, and the limits that the next order brings. Its methods fail the test on any
// error.
type stand struct {
	*testing.T
	ctx    context.Context
	clock  *clock.Hand
	line   Line
	item   queue.Item
	limits queue.Limits
	tickMS int64 // the pace that steps tell
	seen   queue.Known
}

func newStand(t *testing.T, newLine New) *stand {
	c := clock.At(noon)
	return &stand{T: t, ctx: t.Context(), clock: c, line: newLine(t, c), item: "sku-1", limits: queue.Limits{
		Version: 1, Inflow: 10, SessionMS: 300_000, SessionRenewal: true, ClaimMS: 120_000, AbandonMS: 120_000,
		ReturnMS: 600_000, Auto: true, ReleaseAfterMS: 60_000, ReleaseRatio: 0.5,
		Trigger: queue.Trigger{Requests: 500, WindowMS: 10_000},
	}}
}

// set changes the limits; the next step or switch brings them to the line.
func (s *stand) set(change func(*queue.Limits)) {
	s.limits.Version++
	change(&s.limits)
}

// visitor names visitors; names do not rise with the number, so that no test passes by their order.
func visitor(i int) queue.Visitor {
	return queue.Visitor(fmt.Sprintf("v%08x%07d", uint32(i)*2654435761, i))
}

func visitors(from, to int) []queue.Visitor {
	var vs []queue.Visitor
	for i := from; i <= to; i++ {
		vs = append(vs, visitor(i))
	}
	return vs
}

func (s *stand) nowMS() int64 { return s.clock.Now().UnixMilli() }

func (s *stand) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// switchTo does an action by hand.
func (s *stand) switchTo(a queue.Action) queue.SwitchReport {
	s.Helper()
	return s.order(queue.SwitchOrder{Action: a, Cause: queue.ByOperator, By: "kim"})
}

func (s *stand) order(o queue.SwitchOrder) queue.SwitchReport {
	s.Helper()
	o.Limits = s.limits
	r, err := s.line.Switch(s.ctx, s.item, o)
	s.must(err)
	return r
}

func (s *stand) asks(asks ...queue.Ask) []queue.Answer {
	s.Helper()
	var answers []queue.Answer
	for len(asks) > 0 {
		n := min(len(asks), 200)
		r, err := s.line.Ask(s.ctx, s.item, asks[:n])
		s.must(err)
		if len(r.Answers) != n {
			s.Fatalf("%d answers to %d asks", len(r.Answers), n)
		}
		answers, asks = append(answers, r.Answers...), asks[n:]
	}
	return answers
}

func (s *stand) ask(a queue.Ask) queue.Answer {
	s.Helper()
	return s.asks(a)[0]
}

// join asks with Create, in order.
func (s *stand) join(vs ...queue.Visitor) []queue.Answer {
	s.Helper()
	asks := make([]queue.Ask, len(vs))
	for i, v := range vs {
		asks[i] = queue.Ask{Visitor: v, Create: true}
	}
	return s.asks(asks...)
}

// poll asks for the status.
func (s *stand) poll(v queue.Visitor) queue.Answer {
	s.Helper()
	return s.ask(queue.Ask{Visitor: v})
}

// comeBack asks for the status with a ticket.
func (s *stand) comeBack(v queue.Visitor, t queue.Ticket) queue.Answer {
	s.Helper()
	return s.ask(queue.Ask{Visitor: v, Ticket: &t})
}

// ticket is the one that a place gives now.
func (s *stand) ticket(a queue.Answer) queue.Ticket {
	s.Helper()
	h := s.look().Header
	return queue.Ticket{Generation: h.Generation, Epoch: h.Epoch, Score: a.Score, IssuedMS: s.nowMS(), ShownMost: a.Position}
}

// fill has n more visitors wait, numbered from..from+n-1.
func (s *stand) fill(from, n int) []queue.Visitor {
	s.Helper()
	vs := visitors(from, from+n-1)
	for i, a := range s.join(vs...) {
		if a.Outcome != queue.Waiting {
			s.Fatalf("visitor %d: %+v, want a place in the line", from+i, a)
		}
	}
	return vs
}

func (s *stand) hear(vs ...queue.Visitor) (missing []int) {
	s.Helper()
	for len(vs) > 0 {
		n := min(len(vs), 200)
		beats := make([]queue.Beat, n)
		for i, v := range vs[:n] {
			beats[i] = queue.Beat{Kind: queue.Heard, Visitor: v}
		}
		r, err := s.line.Touch(s.ctx, s.item, beats)
		s.must(err)
		missing, vs = append(missing, r.Missing...), vs[n:]
	}
	return missing
}

func (s *stand) renew(v queue.Visitor, gen queue.Generation, issued, ends int64) (ended bool) {
	s.Helper()
	r, err := s.line.Touch(s.ctx, s.item, []queue.Beat{{Kind: queue.Renew, Visitor: v, Generation: gen, IssuedMS: issued, EndsMS: ends}})
	s.must(err)
	return len(r.Ended) > 0
}

func (s *stand) end(k queue.EndKind, v queue.Visitor) queue.EndReport {
	s.Helper()
	r, err := s.line.End(s.ctx, s.item, queue.Ending{Kind: k, Visitor: v})
	s.must(err)
	return r
}

func (s *stand) recall(g queue.Generation, marks ...queue.Mark) queue.RecallReport {
	s.Helper()
	r, err := s.line.Recall(s.ctx, s.item, queue.RecallOrder{Generation: g, Marks: marks})
	s.must(err)
	return r
}

// stepOnce is one call of Step.
func (s *stand) stepOnce() queue.StepReport {
	s.Helper()
	r, err := s.line.Step(s.ctx, s.item, queue.StepOrder{Limits: s.limits, Most: 300, TickMS: s.tickMS, Seen: s.seen})
	s.must(err)
	s.seen = queue.Known{}
	if n := int64(len(r.Admitted)) + r.NoShow + r.Finished + r.Abandoned; n > 300 {
		s.Fatalf("a step moved %d visitors, want at most 300", n)
	}
	return r
}

// step goes on until there is no more to do, and answers all of it.
func (s *stand) step() queue.StepReport {
	s.Helper()
	sum := s.stepOnce()
	for r := sum; r.More; {
		r = s.stepOnce()
		r.Admitted = append(sum.Admitted, r.Admitted...)
		r.NoShow, r.Finished, r.Abandoned = r.NoShow+sum.NoShow, r.Finished+sum.Finished, r.Abandoned+sum.Abandoned
		r.Released, r.Restored = r.Released || sum.Released, r.Restored || sum.Restored
		sum = r
	}
	return sum
}

// run lets d pass, with a step each every, and answers who was let in.
func (s *stand) run(d, every time.Duration) (admitted []queue.LetIn) {
	s.Helper()
	for ; d > 0; d -= every {
		s.clock.Add(min(d, every))
		admitted = append(admitted, s.step().Admitted...)
	}
	return admitted
}

func (s *stand) look() queue.Snapshot {
	s.Helper()
	r, err := s.line.Look(s.ctx, s.item)
	s.must(err)
	return r
}

func (s *stand) find(v queue.Visitor) queue.Standing {
	s.Helper()
	r, err := s.line.Find(s.ctx, s.item, v)
	s.must(err)
	return r
}

// balanced checks invariant books-balance.
func (s *stand) balanced() {
	s.Helper()
	if c := s.look().Counts; !c.Balanced() {
		s.Errorf("books-balance: %+v", c)
	}
}

// sizes checks who waits and who is inside.
func (s *stand) sizes(waiting, running int64) {
	s.Helper()
	if c := s.look().Counts; c.Waiting != waiting || c.Running != running {
		s.Fatalf("waiting %d, running %d; want %d and %d", c.Waiting, c.Running, waiting, running)
	}
}

// is checks one value against another; what says which rule it is.
func is[T comparable](s *stand, what string, got, want T) {
	s.Helper()
	if got != want {
		s.Fatalf("%s: %v, want %v", what, got, want)
	}
}

func names(in []queue.LetIn) []queue.Visitor {
	var vs []queue.Visitor
	for _, l := range in {
		vs = append(vs, l.Visitor)
	}
	return vs
}
