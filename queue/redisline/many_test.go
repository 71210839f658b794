package redisline_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/internal/redistest"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/redisline"
)

// Many looks in one round trip say what each look alone says; what is wrong at one item concerns no other.
func TestManyLooksSayWhatEachSaysAlone(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	client := s.Client()
	line := redisline.New(redisline.Options{Client: client, Prefix: s.Prefix(), Clock: clock.At(time.Now())})
	limits := queue.DefaultPolicy().Limits(1)
	items := []queue.Item{"nobody-knows-it"}
	for i := range 120 {
		item := queue.Item(fmt.Sprintf("look-%03d", i))
		items = append(items, item)
		if _, err := line.Switch(t.Context(), item, queue.SwitchOrder{Action: queue.Activate, Limits: limits, Cause: queue.ByOperator}); err != nil {
			t.Fatal(err)
		}
		if _, err := line.Ask(t.Context(), item, newcomers(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := client.ScriptFlush(t.Context()).Err(); err != nil { // as after a restart of the store
		t.Fatal(err)
	}
	snapshots, errs := line.LookMany(t.Context(), items)
	for i, item := range items {
		alone, err := line.Look(t.Context(), item)
		if errs[i] != nil || err != nil {
			t.Fatalf("%s: %v, alone %v", item, errs[i], err)
		}
		if got := snapshots[i]; got.Header != alone.Header || got.Counts != alone.Counts || got.Requests != alone.Requests {
			t.Errorf("%s: %+v, alone %+v", item, got, alone)
		}
	}
	if n := snapshots[120].Counts.Waiting; n == 0 {
		t.Error("nobody waits where 119 have come")
	}
	if snapshots[0].Header.On() {
		t.Error("an item that nobody knows is on")
	}
}

func TestWhileTheStoreIsAwayEachLookHasItsError(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	line := redisline.New(redisline.Options{Client: s.Client(), Prefix: s.Prefix()})
	s.Kill()
	_, errs := line.LookMany(t.Context(), []queue.Item{"a", "b", "c"})
	if slices.Contains(errs, nil) {
		t.Errorf("errors: %v", errs)
	}
}

// Nodes tell each other of rising traffic; what one of them told is forgotten when it says nothing more.
func TestRisingTrafficIsToldAndForgotten(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	client := s.Client()
	one, other := redisline.NewRising(client, s.Prefix(), "one"), redisline.NewRising(client, s.Prefix(), "other")
	now := time.Now().UnixMilli()
	tell := func(r *redisline.Rising, atMS int64, items ...queue.Item) {
		t.Helper()
		if err := r.Tell(t.Context(), items, atMS); err != nil {
			t.Fatal(err)
		}
	}
	all := func(atMS int64) string {
		t.Helper()
		items, err := other.All(t.Context(), atMS)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(items)
		return fmt.Sprint(items)
	}
	if got := all(now); got != "[]" {
		t.Errorf("before anybody told: %s", got)
	}
	tell(one, now, "shoe", "hat")
	tell(other, now+3000, "coat")
	if got := all(now + 3000); got != "[coat hat shoe]" {
		t.Errorf("both told %s", got)
	}
	tell(one, now+4000, "shoe") // in place of what it told before
	if got := all(now + 8000); got != "[coat shoe]" {
		t.Errorf("after four seconds: %s", got)
	}
	if got := all(now + 8500); got != "[shoe]" {
		t.Errorf("what was told more than five seconds ago stays: %s", got)
	}
	if left := client.PTTL(t.Context(), s.Prefix()+"{+}:rising").Val(); left <= 0 || left > 10*time.Second {
		t.Errorf("the key lives for %v", left)
	}
	if err := client.HSet(t.Context(), s.Prefix()+"{+}:rising", "broken", "no json").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := other.All(t.Context(), now+4000); err == nil {
		t.Error("a field that cannot be read passes silently")
	}
}
