package clock_test

import (
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/internal/clock"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func TestSaw(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, tc := range []struct {
		name string
		skew time.Duration // known before
		took time.Duration // the call
		read time.Duration // the store's clock, after the call was sent by the machine's
		want time.Duration
	}{
		{"the same time", 0, 10 * ms, 5 * ms, 0},
		{"read at the start of the call", 0, 10 * ms, 0, 0},
		{"read at its end", 0, 10 * ms, 10 * ms, 0},
		{"cut to the millisecond", 0, 0, -1 * ms, 0},
		{"a slow call explains much", 0, 800 * ms, 700 * ms, 0},
		{"ahead by more than the call took", 0, 10 * ms, 12 * ms, 7 * ms},
		{"behind", 0, 10 * ms, -2 * ms, -7 * ms},
		{"an hour ahead", 0, 10 * ms, time.Hour, time.Hour - 5*ms},
		{"a year behind", 0, 10 * ms, -8760 * time.Hour, -8760*time.Hour - 5*ms},
		{"still as far ahead", time.Minute, 10 * ms, time.Minute + 3*ms, time.Minute},
		{"no longer ahead", time.Minute, 10 * ms, 5 * ms, 0},
		{"drifted a little less than the call can explain", time.Minute, 10 * ms, time.Minute + 11*ms, time.Minute},
		{"drifted a little more", time.Minute, 10 * ms, time.Minute + 12*ms, time.Minute + 7*ms},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			hand := clock.At(noon)
			s := &clock.Store{Base: hand}
			s.Saw(noon.Add(tc.skew).UnixMilli(), noon)
			sent := hand.Now()
			hand.Add(tc.took)
			s.Saw(sent.Add(tc.read).UnixMilli(), sent)
			if got := s.Skew(); got != tc.want {
				t.Errorf("skew %s, want %s", got, tc.want)
			}
			if got, want := s.Now(), hand.Now().Add(tc.want); !got.Equal(want) {
				t.Errorf("now %s, want %s", got, want)
			}
		})
	}
}

// TestTheSkewIsAsRightAsTheCallAllows: whatever the true skew and wherever in the call the clock was read.
func TestTheSkewIsAsRightAsTheCallAllows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hand := clock.At(noon)
		s := &clock.Store{Base: hand}
		skew := time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "skew"))
		for range 5 {
			sent := hand.Now()
			took := time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "took"))
			at := time.Duration(rapid.Int64Range(0, int64(took)).Draw(t, "at"))
			hand.Add(took)
			before := s.Skew()
			s.Saw(sent.Add(at+skew).UnixMilli(), sent)
			if off := (s.Skew() - skew).Abs(); off > took+2*time.Millisecond {
				t.Fatalf("off by %s after a call of %s", off, took)
			}
			if (before-skew).Abs() == 0 && s.Skew() != before {
				t.Fatalf("a skew that was right went from %s to %s", before, s.Skew())
			}
			hand.Add(time.Second)
		}
	})
}

func TestAStoreThatNobodyAskedHasTheMachinesTime(t *testing.T) {
	t.Parallel()
	var s clock.Store
	before := time.Now()
	if now := s.Now(); now.Before(before) || now.After(time.Now()) || s.Skew() != 0 {
		t.Errorf("%s", now)
	}
	if now := (clock.System{}).Now(); now.Before(before) || now.After(time.Now()) {
		t.Errorf("%s", now)
	}
	s.Saw(time.Now().Add(-time.Hour).UnixMilli(), time.Now())
	if off := time.Since(s.Now()) - time.Hour; off.Abs() > time.Minute {
		t.Errorf("an hour behind, but for %s", off)
	}
}

func TestAHandMovesOnlyWhenTold(t *testing.T) {
	t.Parallel()
	if h := new(clock.Hand); !h.Now().IsZero() {
		t.Errorf("the zero value stands at %s", h.Now())
	}
	h := clock.At(noon)
	for _, tc := range []struct {
		name string
		move func()
		want time.Time
	}{
		{"untouched", func() {}, noon},
		{"on", func() { h.Add(time.Minute) }, noon.Add(time.Minute)},
		{"back", func() { h.Add(-2 * time.Minute) }, noon.Add(-time.Minute)},
		{"set", func() { h.Set(noon.Add(time.Hour)) }, noon.Add(time.Hour)},
		{"looked at twice", func() { h.Now() }, noon.Add(time.Hour)},
	} {
		if tc.move(); !h.Now().Equal(tc.want) {
			t.Errorf("%s: %s, want %s", tc.name, h.Now(), tc.want)
		}
	}
}

func TestManyMoveOneHand(t *testing.T) {
	t.Parallel()
	h := clock.At(noon)
	s := &clock.Store{Base: h}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for range 100 {
				sent := h.Now()
				h.Add(time.Second)
				s.Saw(s.Now().UnixMilli(), sent)
			}
		})
	}
	wg.Wait()
	if want := noon.Add(1000 * time.Second); !h.Now().Equal(want) {
		t.Errorf("%s, want %s", h.Now(), want)
	}
}
