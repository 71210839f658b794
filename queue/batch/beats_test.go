package batch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluicehq/sluice/queue"
)

// beatLine takes beats, or fails at an item.
type beatLine struct {
	calls  []queue.Item
	got    map[queue.Item][]queue.Beat // those taken
	fail   map[queue.Item]error
	report func(item queue.Item, beats []queue.Beat) queue.TouchReport // nil = nothing to tell
	during func()                                                      // called in each call
}

func (l *beatLine) Touch(_ context.Context, item queue.Item, beats []queue.Beat) (queue.TouchReport, error) {
	l.calls = append(l.calls, item)
	if l.during != nil {
		l.during()
	}
	if err := l.fail[item]; err != nil {
		return queue.TouchReport{}, err
	}
	if l.got == nil {
		l.got = map[queue.Item][]queue.Beat{}
	}
	l.got[item] = append(l.got[item], beats...)
	if l.report == nil {
		return queue.TouchReport{Header: queue.Header{Item: item, Version: 7}}, nil
	}
	return l.report(item, beats), nil
}

func (l *beatLine) sorted(item queue.Item) []queue.Beat {
	return slices.SortedFunc(slices.Values(l.got[item]), func(a, b queue.Beat) int {
		return strings.Compare(string(a.Visitor), string(b.Visitor))
	})
}

func flush(t *testing.T, b *Beats) {
	t.Helper()
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestWhatOneVisitorDidIsOneBeat(t *testing.T) {
	t.Parallel()
	const v = queue.Visitor("visitor-00000001")
	heard := queue.Beat{Kind: queue.Heard}
	renew := func(generation queue.Generation, issued, ends int64) queue.Beat {
		return queue.Beat{Kind: queue.Renew, Generation: generation, IssuedMS: issued, EndsMS: ends}
	}
	for _, tc := range []struct {
		name  string
		beats []queue.Beat
		want  queue.Beat
	}{
		{"polls are one poll", []queue.Beat{heard, heard, heard}, heard},
		{"requests with one pass are summed", []queue.Beat{renew(1, 10, 20), renew(1, 10, 20)},
			queue.Beat{Kind: queue.Renew, Generation: 1, IssuedMS: 10, EndsMS: 20, Requests: 2}},
		{"the newest pass counts", []queue.Beat{renew(1, 10, 20), renew(1, 15, 25)},
			queue.Beat{Kind: queue.Renew, Generation: 1, IssuedMS: 15, EndsMS: 25, Requests: 2}},
		{"an older pass, shown later, is the older one still", []queue.Beat{renew(2, 15, 25), renew(1, 10, 20), renew(1, 10, 20)},
			queue.Beat{Kind: queue.Renew, Generation: 2, IssuedMS: 15, EndsMS: 25, Requests: 3}},
		{"who was let in meanwhile waits no more", []queue.Beat{heard, renew(1, 10, 20)},
			queue.Beat{Kind: queue.Renew, Generation: 1, IssuedMS: 10, EndsMS: 20, Requests: 1}},
		{"a late poll takes nothing from a renewal", []queue.Beat{renew(1, 10, 20), heard},
			queue.Beat{Kind: queue.Renew, Generation: 1, IssuedMS: 10, EndsMS: 20, Requests: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			line := &beatLine{}
			b := NewBeats(line)
			for _, beat := range tc.beats {
				if beat.Visitor = v; beat.Kind == queue.Heard {
					b.Heard("sku-1", v)
				} else {
					b.Renew("sku-1", beat)
				}
			}
			flush(t, b)
			tc.want.Visitor = v
			if got := line.got["sku-1"]; len(got) != 1 || got[0] != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
			flush(t, b)
			if len(line.calls) != 1 {
				t.Errorf("%d calls, where there was nothing more to say", len(line.calls))
			}
		})
	}
}

func TestAFlushIsManyCallsOfAtMostTwoHundred(t *testing.T) {
	t.Parallel()
	line := &beatLine{}
	b := NewBeats(line)
	var seen []queue.Header
	b.Seen = func(h queue.Header) { seen = append(seen, h) }
	for i := range 450 {
		b.Heard("sku-1", visitor(i))
	}
	b.Heard("sku-2", visitor(0))
	flush(t, b)
	got := line.sorted("sku-1")
	if len(got) != 450 || len(line.got["sku-2"]) != 1 || len(line.calls) != 4 {
		t.Fatalf("%d and %d beats in %d calls", len(got), len(line.got["sku-2"]), len(line.calls))
	}
	for i, beat := range got {
		if beat.Visitor != visitor(i) {
			t.Fatalf("beat %d is of %q", i, beat.Visitor)
		}
	}
	if len(seen) != 4 || seen[0].Version != 7 {
		t.Errorf("seen: %+v", seen)
	}
}

func TestWhatTheStoreDidNotTakeIsSentAgain(t *testing.T) {
	t.Parallel()
	down := queue.ErrStoreDown.Because(errors.New("refused"))
	line := &beatLine{fail: map[queue.Item]error{"sku-1": down, "sku-2": down}}
	b := NewBeats(line)
	for i := range 250 {
		b.Renew("sku-1", queue.Beat{Visitor: visitor(i), IssuedMS: 10, EndsMS: 20})
		b.Heard("sku-2", visitor(i))
	}
	line.during = func() { // a request that comes while the call is under way
		b.Renew("sku-1", queue.Beat{Visitor: visitor(0), IssuedMS: 15, EndsMS: 25})
		b.Heard("sku-1", visitor(1))
	}
	if err := b.Flush(t.Context()); !errors.Is(err, queue.ErrStoreDown) {
		t.Fatal(err)
	}
	if len(line.calls) != 1 {
		t.Fatalf("%d calls of a store that is away, want one try", len(line.calls))
	}
	line.fail, line.during = nil, nil
	flush(t, b)
	got := line.sorted("sku-1")
	if len(got) != 250 || len(line.got["sku-2"]) != 250 {
		t.Fatalf("%d and %d beats", len(got), len(line.got["sku-2"]))
	}
	for i, want := range []queue.Beat{
		{Kind: queue.Renew, Visitor: visitor(0), IssuedMS: 15, EndsMS: 25, Requests: 2},
		{Kind: queue.Renew, Visitor: visitor(1), IssuedMS: 10, EndsMS: 20, Requests: 1},
		{Kind: queue.Renew, Visitor: visitor(2), IssuedMS: 10, EndsMS: 20, Requests: 1},
	} {
		if got[i] != want {
			t.Errorf("%+v, want %+v", got[i], want)
		}
	}
	flush(t, b)
	if n := len(line.got["sku-1"]); n != 250 {
		t.Errorf("sent again although taken: %d", n)
	}
}

func TestAnItemsOwnErrorIsThatItems(t *testing.T) { // isolated
	t.Parallel()
	broken := errors.New("the item is broken")
	line := &beatLine{fail: map[queue.Item]error{"sku-2": broken}}
	b := NewBeats(line)
	items := []queue.Item{"sku-1", "sku-2", "sku-3", "sku-4"}
	for _, item := range items {
		b.Heard(item, visitor(1))
	}
	if err := b.Flush(t.Context()); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	for _, item := range items {
		if n := len(line.got[item]); n != 1 && item != "sku-2" {
			t.Errorf("%s: %d beats", item, n)
		}
	}
	line.fail = nil
	flush(t, b)
	if n := len(line.got["sku-2"]); n != 0 {
		t.Errorf("%d beats that failed by themselves were kept", n)
	}
}

func TestAnItemsOwnErrorHidesNoStoreThatIsAway(t *testing.T) {
	t.Parallel()
	line := &beatLine{fail: map[queue.Item]error{"broken": errors.New("the item is broken")}}
	b := NewBeats(line)
	for i := range 20 { // in any order
		item := queue.Item("sku-" + string(rune('a'+i)))
		line.fail[item] = queue.ErrStoreDown
		b.Heard(item, visitor(1))
	}
	b.Heard("broken", visitor(1))
	if err := b.Flush(t.Context()); !errors.Is(err, queue.ErrStoreDown) || len(line.calls) > 2 {
		t.Fatalf("%v after %d calls", err, len(line.calls))
	}
	line.fail, line.calls = nil, nil
	if flush(t, b); len(line.calls) < 20 {
		t.Errorf("%d items were kept", len(line.calls))
	}
}

func TestAPlaceThatIsGoneIsToldOnce(t *testing.T) {
	t.Parallel()
	line := &beatLine{report: func(item queue.Item, beats []queue.Beat) queue.TouchReport {
		return queue.TouchReport{Header: queue.Header{Item: item}, Missing: []int{slices.IndexFunc(beats, func(x queue.Beat) bool { return x.Visitor == visitor(1) })}}
	}}
	b := NewBeats(line)
	for round := range 5000 {
		b.Heard("sku-1", visitor(1))
		b.Heard("sku-1", visitor(2))
		flush(t, b)
		if b.Gone("sku-1", visitor(2)) || b.Gone("sku-2", visitor(1)) {
			t.Fatal("one who is there is gone")
		}
		var told atomic.Int64
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if b.Gone("sku-1", visitor(1)) {
					told.Add(1)
				}
			})
		}
		wg.Wait()
		if n := told.Load(); n != 1 {
			t.Fatalf("round %d: told %d times", round, n)
		}
	}
}
