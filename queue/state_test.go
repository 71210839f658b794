package queue_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/queue"
)

// The states in the order of the columns below.
var states = []queue.State{queue.Off, queue.Prequeue, queue.Open, queue.Paused, queue.Closed}

// next is where each action leads from each state: the state's word, with a ! where something changes; - where it is
// refused.
var next = []struct {
	action   queue.Action
	draining bool
	to       string // from off, prequeue, open, paused, closed
}{
	{queue.Activate, false, "open! open! open - -"},
	{queue.Activate, true, "open! open! open - -"},
	{queue.Deactivate, false, "off off! off! off! off!"},
	{queue.Deactivate, true, "off off! off! off! off!"},
	{queue.Drain, false, "- - open! open! -"},
	{queue.Drain, true, "- - open open! -"},
	{queue.Close, false, "closed! closed! closed! closed! closed"},
	{queue.Close, true, "closed! closed! closed! closed! closed"},
	{queue.Pause, false, "- - paused! paused -"},
	{queue.Pause, true, "- - paused! paused -"},
	{queue.Resume, false, "- - open open! -"},
	{queue.Resume, true, "- - open open! -"},
	{queue.Admit, false, "- - open! paused! -"},
	{queue.Admit, true, "- - open! paused! -"},
	{queue.SetInflow, false, "- prequeue! open! paused! closed!"},
	{queue.SetInflow, true, "- prequeue! open! paused! closed!"},
	{queue.Reset, false, "- prequeue! open! paused! closed!"},
	{queue.Reset, true, "- prequeue! open! paused! closed!"},
	{queue.Gather, false, "prequeue! prequeue open paused closed"},
	{queue.Gather, true, "prequeue! prequeue open paused closed"},
	{queue.Restore, false, "- - - - -"}, // a store's own
	{"dance", false, "- - - - -"},
	{"", false, "- - - - -"},
}

func TestNext(t *testing.T) {
	t.Parallel()
	for _, tc := range next {
		for i, cell := range strings.Fields(tc.to) {
			from := states[i]
			to, changes, err := from.Next(tc.action, tc.draining)
			got := to.String()
			switch {
			case err != nil:
				got = "-"
				var f *fault.Error
				if !errors.Is(err, queue.ErrWrongState) || !errors.As(err, &f) ||
					!strings.Contains(f.Detail, from.String()) || !strings.Contains(f.Detail, string(tc.action)) {
					t.Errorf("%s from %s: %v names not both", tc.action, from, err)
				}
				if to != from || changes {
					t.Errorf("%s from %s: refused, yet %s, %v", tc.action, from, to, changes)
				}
			case changes:
				got += "!"
			}
			if got != cell {
				t.Errorf("%s from %s (draining %v): %s, want %s", tc.action, from, tc.draining, got, cell)
			}
		}
	}
}

// TestAnActionTakesEffectOnce: all but those that may be ordered again and again.
func TestAnActionTakesEffectOnce(t *testing.T) {
	t.Parallel()
	for _, a := range []queue.Action{queue.Activate, queue.Deactivate, queue.Drain, queue.Close, queue.Pause, queue.Resume, queue.Gather} {
		for _, from := range states {
			to, _, err := from.Next(a, false)
			if err != nil {
				continue
			}
			if again, changes, err := to.Next(a, a == queue.Drain); again != to || changes || err != nil {
				t.Errorf("%s twice from %s: %s, then %s, %v, %v", a, from, to, again, changes, err)
			}
		}
	}
}

func TestEachStateHasOneWord(t *testing.T) {
	t.Parallel()
	for i, word := range []string{"off", "prequeue", "open", "paused", "closed"} {
		s := states[i]
		if s.String() != word {
			t.Errorf("%d: %q, want %q", s, s, word)
		}
		if back, ok := queue.ParseState(word); !ok || back != s {
			t.Errorf("%q: %v, %v", word, back, ok)
		}
		b, err := json.Marshal(map[string]queue.State{"state": s})
		if want := `{"state":"` + word + `"}`; err != nil || string(b) != want {
			t.Errorf("%s, %v; want %s", b, err, want)
		}
		var back map[string]queue.State
		if err := json.Unmarshal(b, &back); err != nil || back["state"] != s {
			t.Errorf("%s: %v, %v", b, back, err)
		}
	}
	if got := queue.State(9).String(); got != "state(9)" {
		t.Errorf("a state that is none: %q", got)
	}
}

func TestAWordThatIsNoStateIsRefused(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"", "Open", "open ", "on", "state(9)", "0"} {
		if s, ok := queue.ParseState(word); ok || s != queue.Off {
			t.Errorf("%q: %v, %v", word, s, ok)
		}
		s := queue.Paused
		if err := s.UnmarshalText([]byte(word)); err == nil || s != queue.Paused {
			t.Errorf("%q: %v, %v", word, s, err)
		}
	}
}
