package memtraffic_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/detector"
	"github.com/sluicehq/sluice/detector/memtraffic"
	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/memline"
)

// node is a whole node without a gate: counter, flusher, traffic and line, on a clock in hand.
type node struct {
	*detector.Counter
	*detector.Flusher
	*memline.Line
	t         *testing.T
	clock     *clock.Hand
	limits    queue.Limits
	activated int
}

// counting is a traffic that counts the queues which it turns on.
type counting struct {
	*memtraffic.Traffic
	activated *int
}

func (c counting) Flush(ctx context.Context, samples []detector.Sample) ([]detector.Verdict, error) {
	verdicts, err := c.Traffic.Flush(ctx, samples)
	for _, v := range verdicts {
		if v.Activated {
			*c.activated++
		}
	}
	return verdicts, err
}

func newNode(t *testing.T, change func(*queue.Policy)) *node {
	policy := queue.DefaultPolicy()
	if change != nil {
		change(&policy)
	}
	n := &node{t: t, Counter: detector.NewCounter(), limits: policy.Limits(1), clock: clock.At(time.Unix(1_800_000_000, 0))}
	var traffic *memtraffic.Traffic
	n.Line = memline.New(memline.Options{Clock: n.clock, Traffic: func(i queue.Item, ms int64) (float64, float64, float64) {
		return traffic.Measures(i, ms)
	}})
	traffic = memtraffic.New(memtraffic.Options{Line: n.Line, Clock: n.clock})
	n.Flusher = detector.NewFlusher(detector.FlusherOptions{
		Counter: n.Counter, Traffic: counting{traffic, &n.activated}, Clock: n.clock,
		Limits: func(queue.Item) queue.Limits { return n.limits },
		Failed: func(err error) { t.Errorf("flush: %v", err) },
	})
	return n
}

// hit counts requests of different visitors, trips where the count says so, and flushes.
func (n *node) hit(requests int, newcomers bool) {
	n.t.Helper()
	needs := detector.Needs{Trigger: n.limits.Trigger, MaxActive: n.limits.MaxActive, SessionMS: n.limits.SessionMS}
	for i := range requests {
		v := queue.Visitor(fmt.Sprintf("visitor-%08d", i))
		if n.Count("sku-1", v, newcomers, needs, n.clock.Now().UnixMilli()) {
			if _, err := n.Trip(context.Background(), "sku-1"); err != nil {
				n.t.Fatal(err)
			}
		}
	}
	if err := n.Flush(context.Background()); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) look() queue.Snapshot {
	s, err := n.Look(context.Background(), "sku-1")
	if err != nil {
		n.t.Fatal(err)
	}
	return s
}

func (n *node) do(a queue.Action) {
	n.t.Helper()
	if _, err := n.Switch(context.Background(), "sku-1", queue.SwitchOrder{Action: a, Limits: n.limits, Cause: queue.ByOperator}); err != nil {
		n.t.Fatal(err)
	}
}

func TestEachTriggerTripsByItself(t *testing.T) {
	t.Parallel()
	byNewcomers := func(p *queue.Policy) { p.TriggerRequests, p.TriggerNewVisitorsPerMinute = 100_000, 100 }
	byActive := func(p *queue.Policy) { p.TriggerRequests, p.TriggerActiveUsers = 100_000, 100 }
	for _, c := range []struct {
		name      string
		change    func(*queue.Policy)
		requests  int
		newcomers bool
		by        string // "" = it stays off
	}{
		{"490 of 500 requests do not", nil, 490, true, ""}, // B017
		{"510 requests do", nil, 510, true, detector.ByRequests},
		{"510 requests do not where the mode is off", func(p *queue.Policy) { p.Mode = queue.ModeOff }, 510, true, ""},
		{"98 of 100 newcomers do not", byNewcomers, 98, true, ""},
		{"100 newcomers do", byNewcomers, 100, true, detector.ByNewcomers},
		{"any number of people known from before do not", byNewcomers, 500, false, ""},
		{"98 of 100 active users do not", byActive, 98, false, ""},
		{"100 active users do", byActive, 100, false, detector.ByActive},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, c.change)
			n.hit(c.requests, c.newcomers)
			n.clock.Add(2 * time.Second)
			n.hit(0, false)
			h := n.look().Header
			if h.On() != (c.by != "") || h.By != c.by && h.On() {
				t.Errorf("%s by %q, want %q", h.State, h.By, c.by)
			}
			if want := map[bool]int{true: 1, false: 0}[c.by != ""]; n.activated != want {
				t.Errorf("%d activations, want %d", n.activated, want)
			}
			if got := n.look().Requests; h.On() && got != float64(c.requests) {
				t.Errorf("the traffic reads %v of %d", got, c.requests)
			}
		})
	}
}

func TestActiveUsersAreThoseOfTheSession(t *testing.T) {
	t.Parallel()
	n := newNode(t, func(p *queue.Policy) { p.TriggerRequests, p.TriggerActiveUsers, p.SessionSeconds = 100_000, 100, 30 })
	for range 5 { // the same 60 people again and again are 60
		n.hit(60, false)
		n.clock.Add(2 * time.Second)
	}
	n.clock.Add(25 * time.Second)
	n.hit(60, false)
	if n.look().Header.On() {
		t.Fatal("60 people were taken for more")
	}
	n.hit(101, false)
	if !n.look().Header.On() {
		t.Fatal("101 people were not seen")
	}
}

// Who is active when the queue turns on is known to be inside: their room is reserved.
func TestActiveUsersAreReserved(t *testing.T) {
	t.Parallel()
	n := newNode(t, func(p *queue.Policy) { p.MaxActiveUsers, p.TriggerRequests = 1000, 100 })
	n.hit(60, false)
	n.clock.Add(time.Second)
	n.hit(60, false)
	if s := n.look(); !s.Header.On() || s.Counts.Reserved != 60 {
		t.Errorf("%s, %d reserved", s.Header.State, s.Counts.Reserved)
	}
}

// Turned off by hand, the detector stays disarmed until the traffic was low.
func TestTheDetectorIsDisarmedByHand(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	n.hit(600, true)
	n.do(queue.Deactivate)
	n.hit(600, true)
	if n.look().Header.On() || n.activated != 1 {
		t.Fatal("it turned on again in the same rush")
	}
	n.clock.Add(11 * time.Second)
	n.hit(1, true)
	if _, err := n.Step(context.Background(), "sku-1", queue.StepOrder{Limits: n.limits, Most: 300}); err != nil {
		t.Fatal(err)
	}
	n.clock.Add(time.Second)
	n.hit(600, true)
	if !n.look().Header.On() || n.activated != 2 {
		t.Error("the next rush was not seen")
	}
}

// A prequeue gathers people: the detector does not open it, whatever the traffic.
func TestARushDoesNotOpenAPrequeue(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	if _, err := n.Switch(context.Background(), "sku-1", queue.SwitchOrder{Action: queue.Gather, Limits: n.limits, Cause: queue.BySale}); err != nil {
		t.Fatal(err)
	}
	n.hit(2000, true)
	if h := n.look().Header; h.State != queue.Prequeue || n.activated != 0 {
		t.Errorf("%s", h.State)
	}
}

// The queue is released by what the traffic measures, and does not flap.
func TestReleaseNeedsQuietForTheSetTime(t *testing.T) {
	t.Parallel()
	n := newNode(t, func(p *queue.Policy) { p.ReleaseAfterSeconds = 20 })
	n.hit(500, true)
	step := func() queue.StepReport {
		r, err := n.Step(context.Background(), "sku-1", queue.StepOrder{Limits: n.limits, Most: 300})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for second := range 60 { // 30 a second are 300 in the window: above the half
		n.hit(30, false)
		if step().Released {
			t.Fatalf("released after %d s of traffic above the half", second)
		}
		n.clock.Add(time.Second)
	}
	released := -1
	for second := range 60 { // 10 a second are 100
		n.hit(10, false)
		if step().Released {
			released = second
			break
		}
		n.clock.Add(time.Second)
	}
	if released < 20 || released > 30 {
		t.Errorf("released after %d s", released)
	}
	if n.activated != 1 {
		t.Errorf("%d activations", n.activated)
	}
}

// Items whose traffic is over take no memory, and a flood of others is bounded.
func TestItemsOfThePastAreForgotten(t *testing.T) {
	t.Parallel()
	hand := clock.At(time.Unix(1_800_000_000, 0))
	traffic := memtraffic.New(memtraffic.Options{Line: memline.New(memline.Options{Clock: hand}), Clock: hand})
	limits := queue.DefaultPolicy().Limits(1)
	for i := range 40_000 {
		s := detector.Sample{Item: queue.Item(fmt.Sprint("item-", i)), Limits: limits, Counts: []detector.Bucket{{N: 1}}}
		if i == 100 {
			s.Counts[0].N = 400
		}
		if _, err := traffic.Flush(t.Context(), []detector.Sample{s}); err != nil {
			t.Fatal(err)
		}
	}
	if n := traffic.Items(); n > 32_768 {
		t.Errorf("%d items", n)
	}
	if r, _, _ := traffic.Measures("item-100", hand.Now().UnixMilli()); r != 400 {
		t.Errorf("the busy one reads %v", r)
	}
	hand.Add(time.Minute)
	if _, err := traffic.Flush(t.Context(), []detector.Sample{{Item: "last", Limits: limits, Counts: []detector.Bucket{{N: 1}}}}); err != nil {
		t.Fatal(err)
	}
	if n := traffic.Items(); n != 1 {
		t.Errorf("%d items a minute later", n)
	}
}
