package scheduler_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/memline"
	"github.com/sluicehq/sluice/scheduler"
	"github.com/sluicehq/sluice/scheduler/sale"
)

// saleStand is three clocks of sales over one line, on a clock in hand. Seconds are since noon.
type saleStand struct {
	t        *testing.T
	clock    *clock.Hand
	line     *memline.Line
	board    *queue.Board
	calendar *sale.Calendar
	clocks   []scheduler.SaleClock
	changes  int // that the clocks have made
}

func newSaleStand(t *testing.T) *saleStand {
	c := clock.At(noon)
	s := &saleStand{t: t, clock: c, line: memline.New(memline.Options{Clock: c}), board: &queue.Board{}, calendar: sale.NewCalendar(nil)}
	for range 3 { // that do not know of one another: the line alone keeps the steps single
		s.clocks = append(s.clocks, scheduler.SaleClock{
			Line: s.line, Board: s.board, Share: scheduler.NewShare("a"), Clock: c,
			Sales:  func() *sale.Calendar { return s.calendar },
			Limits: s.limits,
			Seen: func(r queue.SwitchReport) {
				if r.Changed {
					s.changes++
				}
				s.board.Put(r.Header)
			},
		})
	}
	return s
}

func (s *saleStand) limits(queue.Item) queue.Limits {
	return queue.DefaultPolicy().Limits(s.clock.Now().UnixMilli())
}

// friday is a sale of item a: it gathers at 10 s, opens at 20 s and closes at 40 s.
func friday() sale.Sale {
	at := func(s int64) int64 { return noon.UnixMilli() + s*1000 }
	return sale.Sale{ID: "friday", Name: "Friday", Item: "a", PrequeueMS: at(10), OpensMS: at(20), ClosesMS: at(40), TimeZone: "UTC"}
}

func (s *saleStand) plan(sales ...sale.Sale) {
	s.t.Helper()
	s.calendar = sale.NewCalendar(sales)
	if err := s.calendar.Broken(); err != nil {
		s.t.Fatal(err)
	}
}

// at moves the clock and lets all nodes look twice, so that what needs two steps is done.
func (s *saleStand) at(seconds int) queue.Header {
	s.t.Helper()
	s.clock.Set(noon.Add(time.Duration(seconds) * time.Second))
	for range 2 {
		for _, c := range s.clocks {
			if err := c.Apply(s.t.Context()); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	return s.board.Get("a")
}

func (s *saleStand) by(cause queue.Cause, a queue.Action) {
	s.t.Helper()
	r, err := s.line.Switch(s.t.Context(), "a", queue.SwitchOrder{Action: a, Cause: cause, By: "kim", Limits: s.limits("a")})
	if err != nil {
		s.t.Fatal(err)
	}
	s.board.Put(r.Header)
}

func (s *saleStand) want(seconds int, state queue.State) queue.Header {
	s.t.Helper()
	h := s.at(seconds)
	if h.State != state && !(state == queue.Off && !h.On()) {
		s.t.Fatalf("at %d s: %s, want %s (%s by %s)", seconds, h.State, state, h.Cause, h.By)
	}
	return h
}

func TestASaleGathersOpensClosesAndGoesOffOnceOverAllNodes(t *testing.T) {
	t.Parallel()
	s := newSaleStand(t)
	s.plan(friday())
	s.want(9, queue.Off)
	gathers := s.want(10, queue.Prequeue)
	s.want(19, queue.Prequeue)
	opens := s.want(20, queue.Open)
	s.want(39, queue.Open)
	s.want(40, queue.Closed)
	session := int(s.limits("a").SessionMS / 1000)
	s.want(39+session, queue.Closed)
	s.want(40+session, queue.Off)
	s.want(500+session, queue.Off)
	if gathers.Generation != opens.Generation || gathers.Grace || gathers.PassesFrom != gathers.Generation {
		t.Errorf("gathers %+v, opens %+v", gathers, opens)
	}
	if s.changes != 4 {
		t.Errorf("%d changes, want one for each of four steps", s.changes)
	}
}

// B056: what was slept through is made up for while the sale is on, and not done once it is over.
func TestStepsThatWereSleptThrough(t *testing.T) {
	t.Parallel()
	s := newSaleStand(t)
	s.plan(friday())
	s.want(35, queue.Open)
	s.want(40, queue.Closed)
	s = newSaleStand(t)
	s.plan(friday())
	s.want(9, queue.Off)
	s.want(100, queue.Off)
	if s.changes != 0 {
		t.Errorf("%d steps of a sale that is over", s.changes)
	}
}

// B058: what is deleted does not happen, and another that is put forward happens at its new time.
func TestSalesThatAreChangedBeforeTheirTime(t *testing.T) {
	t.Parallel()
	s := newSaleStand(t)
	s.plan(friday())
	s.at(9)
	s.plan()
	s.want(25, queue.Off)
	early := friday()
	early.PrequeueMS, early.OpensMS = 0, noon.UnixMilli()+27_000
	s.plan(early)
	s.want(26, queue.Off)
	s.want(27, queue.Open)
}

// B097: put off while people gather, they keep their places and nobody is let in before the new opening.
func TestASaleThatIsPutOffWhilePeopleGather(t *testing.T) {
	t.Parallel()
	s := newSaleStand(t)
	s.plan(friday())
	first := s.want(15, queue.Prequeue)
	at := func(sec int64) int64 { return noon.UnixMilli() + sec*1000 }
	edit := func(prequeue, opens int64) {
		f := friday()
		f.PrequeueMS, f.OpensMS, f.ClosesMS = 0, at(opens), at(opens+20)
		if prequeue != 0 {
			f.PrequeueMS = at(prequeue)
		}
		s.plan(f)
	}
	edit(10, 7200)
	s.want(16, queue.Prequeue)
	s.want(25, queue.Prequeue)
	edit(10, 3600)
	s.want(300, queue.Prequeue)
	edit(0, 3600) // it has gathered already
	s.want(301, queue.Prequeue)
	edit(3000, 3500) // not yet, by the new plan
	if h := s.want(302, queue.Prequeue); h.OpensMS != at(3500) {
		t.Errorf("opens at %d", h.OpensMS)
	}
	s.want(3499, queue.Prequeue)
	if h := s.want(3500, queue.Open); h.Generation != first.Generation {
		t.Errorf("generation %d, was %d", h.Generation, first.Generation)
	}
	s.want(3520, queue.Closed)
}

func TestAQueueThatIsOnAlreadyGoesOnUnderTheSale(t *testing.T) {
	t.Parallel()
	for _, cause := range []queue.Cause{queue.ByOperator, queue.ByDetector, queue.ByMode} {
		s := newSaleStand(t)
		s.by(cause, queue.Activate)
		before := s.board.Get("a")
		s.plan(friday())
		if h := s.want(10, queue.Open); h.Cause != queue.BySale || h.Generation != before.Generation {
			t.Errorf("%s: %+v", cause, h)
		}
		s.want(20, queue.Open)
		s.want(40, queue.Closed)
		if s.changes != 2 {
			t.Errorf("%s: %d changes, want that it is taken over and closed", cause, s.changes)
		}
	}
}

func TestTurnedOffByHandItStaysOffHoweverTheSaleIsEdited(t *testing.T) {
	t.Parallel()
	s := newSaleStand(t)
	s.plan(friday())
	s.want(25, queue.Open)
	s.by(queue.ByOperator, queue.Deactivate)
	s.want(26, queue.Off)
	f := friday()
	f.Name, f.ClosesMS = "Black Friday (really)", f.ClosesMS+60_000
	s.plan(f)
	s.want(27, queue.Off)
	f.PrequeueMS, f.OpensMS = 0, noon.UnixMilli()+30_000 // another opening is another time
	s.plan(f)
	s.want(29, queue.Off)
	s.want(30, queue.Open)
}

func TestOpenedEarlyAndTurnedOffByHandItStaysOff(t *testing.T) {
	t.Parallel()
	s := newSaleStand(t)
	s.plan(friday())
	s.want(15, queue.Prequeue)
	s.by(queue.ByOperator, queue.Activate)
	s.want(16, queue.Open)
	s.by(queue.ByOperator, queue.Deactivate)
	s.want(21, queue.Off)
}

func TestPausedByHandItStaysPausedTillTheEnd(t *testing.T) {
	t.Parallel()
	s := newSaleStand(t)
	s.plan(friday())
	s.want(25, queue.Open)
	s.by(queue.ByOperator, queue.Pause)
	s.want(39, queue.Paused)
	s.want(40, queue.Closed)
}

func TestADeletedSaleLeavesNoQueueOn(t *testing.T) {
	t.Parallel()
	moved := friday()
	moved.Item = "b"
	for name, now := range map[string][]sale.Sale{"deleted": nil, "of another item": {moved}} {
		for _, seconds := range []int{15, 25} {
			s := newSaleStand(t)
			s.plan(friday())
			s.at(seconds)
			s.plan(now...)
			if h := s.want(seconds+1, queue.Open); !h.Draining {
				t.Errorf("%s at %d s: %+v", name, seconds, h)
			}
		}
	}
}

func TestARepeatStartsAGenerationEachTime(t *testing.T) {
	t.Parallel()
	s := newSaleStand(t)
	f := friday()
	f.OpensMS, f.PrequeueMS, f.ClosesMS, f.Repeat = noon.UnixMilli()+60_000, 0, noon.UnixMilli()+80_000, "* * * * *"
	s.plan(f)
	last := queue.Generation(0)
	for minute := 1; minute < 4; minute++ {
		h := s.want(60*minute, queue.Open)
		if h.Generation <= last {
			t.Fatalf("minute %d: generation %d after %d", minute, h.Generation, last)
		}
		last = h.Generation
		s.want(60*minute+20, queue.Closed)
	}
}

// B055: after the clock was wrong for a while, the next time is the next by the right clock.
func TestAClockThatIsCorrectedStopsNoRepeat(t *testing.T) {
	t.Parallel()
	s := newSaleStand(t)
	f := friday()
	f.OpensMS, f.PrequeueMS, f.ClosesMS, f.Repeat = noon.UnixMilli()+60_000, 0, noon.UnixMilli()+80_000, "* * * * *"
	s.plan(f)
	s.want(60, queue.Open)
	s.at(7200 + 30)
	s.by(queue.ByOperator, queue.Deactivate)
	s.want(119, queue.Off)
	s.want(120, queue.Open)
}

// B047: a time of each night that one night does not have comes at the first instant after it, once.
func TestARepeatOpensWhereTheClocksLeaveItsTimeOut(t *testing.T) {
	t.Parallel()
	s := newSaleStand(t)
	instant := func(text string) time.Time {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	f := friday()
	f.PrequeueMS, f.OpensMS, f.ClosesMS = 0, instant("2027-03-12T07:30:00Z").UnixMilli(), instant("2027-03-12T08:30:00Z").UnixMilli()
	f.TimeZone, f.Repeat = "America/New_York", "30 2 * * *"
	s.plan(f)
	var opened []string
	last := queue.Off
	for at := instant("2027-03-13T00:00:00Z"); at.Before(instant("2027-03-16T00:00:00Z")); at = at.Add(time.Minute) {
		now := s.at(int(at.Sub(noon) / time.Second)).State
		if now == queue.Open && last != now {
			opened = append(opened, at.Format(time.RFC3339))
		}
		last = now
	}
	if got := strings.Join(opened, " "); got != "2027-03-13T07:30:00Z 2027-03-14T07:00:00Z 2027-03-15T06:30:00Z" {
		t.Errorf("it opened at %s", got)
	}
}
