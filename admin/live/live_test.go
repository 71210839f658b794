package live_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/admin/live"
	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/memline"
)

// watched is the line in memory; it counts the looks, and fails when told to.
type watched struct {
	*memline.Line
	mu    sync.Mutex
	looks map[queue.Item]int
	fails error
}

func (w *watched) Look(ctx context.Context, item queue.Item) (queue.Snapshot, error) {
	w.mu.Lock()
	w.looks[item]++
	err := w.fails
	w.mu.Unlock()
	if err != nil {
		return queue.Snapshot{}, err
	}
	return w.Line.Look(ctx, item)
}

func (w *watched) LookMany(ctx context.Context, items []queue.Item) ([]queue.Snapshot, []error) {
	snapshots, errs := make([]queue.Snapshot, len(items)), make([]error, len(items))
	for i, item := range items {
		snapshots[i], errs[i] = w.Look(ctx, item)
	}
	return snapshots, errs
}

func (w *watched) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fails = err
}

func (w *watched) looked(item queue.Item) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.looks[item]
}

// stand is a line, a board and readings on one clock.
type stand struct {
	*testing.T
	*live.Readings
	hand   *clock.Hand
	line   *watched
	board  *queue.Board
	rising []queue.Item
	failed []error
	limits queue.Limits
}

func newStand(t *testing.T) *stand {
	t.Helper()
	s := &stand{T: t, hand: clock.At(time.Date(2026, 12, 4, 11, 0, 0, 0, time.UTC)), board: new(queue.Board)}
	s.line = &watched{Line: memline.New(memline.Options{Clock: s.hand}), looks: map[queue.Item]int{}}
	policy := queue.DefaultPolicy()
	policy.InflowPerSecond, policy.AbandonSeconds, policy.ClaimSeconds, policy.SessionSeconds = 10, 86400, 3600, 86400
	s.limits = policy.Limits(1)
	s.Readings = live.New(live.Options{
		Line: s.line, Board: s.board, Clock: s.hand,
		Rising: func(context.Context) ([]queue.Item, error) { return s.rising, nil },
		Failed: func(err error) { s.failed = append(s.failed, err) },
	})
	return s
}

// on turns a queue on; the board is told of it, as it is by the change stream.
func (s *stand) on(item queue.Item) {
	s.Helper()
	r, err := s.line.Switch(s.Context(), item, queue.SwitchOrder{Action: queue.Activate, Limits: s.limits, Cause: queue.ByOperator})
	if err != nil {
		s.Fatal(err)
	}
	s.board.Put(r.Header)
}

func (s *stand) join(item queue.Item, n int) {
	s.Helper()
	for range n {
		if _, err := s.line.Ask(s.Context(), item, []queue.Ask{{Visitor: queue.NewVisitor(), Create: true}}); err != nil {
			s.Fatal(err)
		}
	}
}

// pass lets time go by, with steps of the line, and reads.
func (s *stand) pass(d time.Duration, items ...queue.Item) {
	s.Helper()
	for end := s.hand.Now().Add(d); s.hand.Now().Before(end); s.hand.Add(time.Second) {
		for _, item := range items {
			if _, err := s.line.Step(s.Context(), item, queue.StepOrder{Limits: s.limits, Most: 300, TickMS: 250}); err != nil {
				s.Fatal(err)
			}
		}
		s.Pass(s.Context())
	}
}

func (s *stand) items() (items []queue.Item) {
	for _, r := range s.All() {
		items = append(items, r.Header.Item)
	}
	return items
}

func TestWhatIsRead(t *testing.T) {
	t.Parallel()
	t.Run("queues that are on and items with rising traffic, by item", func(t *testing.T) {
		t.Parallel()
		s := newStand(t)
		s.on("shoe")
		s.on("hat")
		s.rising = []queue.Item{"rush"}
		s.join("shoe", 3)
		s.Pass(t.Context())
		if got := fmt.Sprint(s.items()); got != "[hat rush shoe]" {
			t.Fatalf("read %s", got)
		}
		if r := s.All()[2]; !r.Live || r.Counts.Waiting != 3 || r.Header.State != queue.Open {
			t.Errorf("the reading is %+v", r)
		}
	})
	t.Run("an item is read every five seconds, however often a pass comes", func(t *testing.T) {
		t.Parallel()
		s := newStand(t)
		s.on("shoe")
		s.pass(20 * time.Second)
		if n := s.line.looked("shoe"); n != 4 {
			t.Errorf("looked %d times in 20 s; want 4", n)
		}
	})
	t.Run("a queue that goes off leaves the list at the next pass", func(t *testing.T) {
		t.Parallel()
		s := newStand(t)
		s.on("shoe")
		s.Pass(t.Context())
		r, err := s.line.Switch(t.Context(), "shoe", queue.SwitchOrder{Action: queue.Deactivate, Limits: s.limits})
		if err != nil {
			t.Fatal(err)
		}
		s.board.Put(r.Header)
		s.hand.Add(time.Second)
		s.Pass(t.Context())
		if got := s.items(); len(got) != 0 {
			t.Errorf("still listed: %v", got)
		}
	})
	t.Run("with more items than one pass reads, those that waited the longest come first", func(t *testing.T) {
		t.Parallel()
		s := newStand(t)
		for i := range 1200 {
			s.on(queue.Item(fmt.Sprintf("item-%04d", i)))
		}
		for range 3 {
			s.Pass(t.Context())
			s.hand.Add(time.Second)
		}
		for _, r := range s.All() {
			if !r.Live || s.line.looked(r.Header.Item) != 1 {
				t.Fatalf("%s was read %d times in three passes; want once", r.Header.Item, s.line.looked(r.Header.Item))
			}
		}
	})
	t.Run("a change that was pushed shows before the item is read again", func(t *testing.T) {
		t.Parallel()
		s := newStand(t)
		s.on("shoe")
		s.Pass(t.Context())
		r, err := s.line.Switch(t.Context(), "shoe", queue.SwitchOrder{Action: queue.Pause, Limits: s.limits})
		if err != nil {
			t.Fatal(err)
		}
		s.board.Put(r.Header)
		s.hand.Add(time.Second)
		s.Pass(t.Context())
		if state := s.All()[0].Header.State; state != queue.Paused || s.line.looked("shoe") != 1 {
			t.Errorf("shows %v after %d looks", state, s.line.looked("shoe"))
		}
	})
}

func TestWhileTheLineCannotBeAskedTheLastNumbersStay(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.on("shoe")
	s.join("shoe", 7)
	s.Pass(t.Context())
	s.line.fail(errors.New("the store is away"))
	s.hand.Add(6 * time.Second)
	s.Pass(t.Context())
	r := s.All()[0]
	if r.Live || r.Counts.Waiting != 7 || r.In != -1 || len(s.failed) != 1 {
		t.Errorf("%+v, told of %v", r, s.failed)
	}
	if got := s.Look(t.Context(), "shoe"); got.Live || got.Counts.Waiting != 7 {
		t.Errorf("a look gives %+v", got)
	}
	s.line.fail(nil)
	s.hand.Add(6 * time.Second)
	s.Pass(t.Context())
	if !s.All()[0].Live {
		t.Error("not live again")
	}
}

func TestManyWhoLookAtOnceAreOneLook(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.on("shoe")
	s.Pass(t.Context())
	s.hand.Add(time.Second)
	before := s.line.looked("shoe")
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { s.Look(t.Context(), "shoe") })
	}
	wg.Wait()
	if n := s.line.looked("shoe") - before; n != 1 {
		t.Errorf("50 readers cost %d looks", n)
	}
	s.hand.Add(600 * time.Millisecond)
	s.Look(t.Context(), "shoe")
	if n := s.line.looked("shoe") - before; n != 2 {
		t.Errorf("after 600 ms %d looks; want 2", n)
	}
}

func TestLookingAtNothingKeepsNothing(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	for i := range 100 {
		if r := s.Look(t.Context(), queue.Item(fmt.Sprintf("nothing-%d", i))); !r.Live || r.Header.On() {
			t.Fatalf("%+v", r)
		}
	}
	s.Pass(t.Context())
	if len(s.All()) != 0 || s.Hour("nothing-1") != nil {
		t.Error("items that nobody has heard of are kept")
	}
}

func TestTheLastHour(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.on("shoe")
	s.join("shoe", 100_000)
	s.pass(2*time.Hour, "shoe")
	hour := s.Hour("shoe")
	if n := len(hour); n < 150 || n > 180 {
		t.Errorf("%d samples; want 60 of the last five minutes, and one each 30 s before", n)
	}
	now := s.hand.Now().UnixMilli()
	if age := time.Duration(now-hour[0].AtMS) * time.Millisecond; age > live.Span || age < 55*time.Minute {
		t.Errorf("the oldest sample is %v old", age)
	}
	last := hour[0]
	for _, x := range hour[1:] {
		if x.AtMS <= last.AtMS || x.Waiting >= last.Waiting {
			t.Fatalf("after %+v comes %+v", last, x)
		}
		if x.In < 9 || x.In > 11 || x.Set != 10 {
			t.Fatalf("let in %v a second at an inflow of %v; want 10: %+v", x.In, x.Set, x)
		}
		last = x
	}
}

func TestANewGenerationDoesNotCountAsAnInflow(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.on("shoe")
	s.join("shoe", 500)
	s.pass(30*time.Second, "shoe")
	r, err := s.line.Switch(t.Context(), "shoe", queue.SwitchOrder{Action: queue.Reset, Limits: s.limits, Cause: queue.ByOperator})
	if err != nil {
		t.Fatal(err)
	}
	s.board.Put(r.Header)
	s.pass(30*time.Second, "shoe")
	broken := 0
	for _, x := range s.Hour("shoe") {
		if x.In == -1 {
			broken++
		}
		if x.In < -1 || x.In > 11 {
			t.Errorf("let in %v a second: %+v", x.In, x)
		}
	}
	if broken != 2 { // the first sample of each
		t.Errorf("%d samples without an inflow; want 2", broken)
	}
}
