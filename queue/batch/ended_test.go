package batch

import (
	"cmp"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/sluicehq/sluice/queue"
)

func TestAPassHasEndedUpToTheInstantOfTheEnd(t *testing.T) {
	t.Parallel()
	b := NewBeats(&beatLine{})
	b.EndPass("sku-1", visitor(1), 5000)
	for _, tc := range []struct {
		name   string
		item   queue.Item
		v      queue.Visitor
		issued int64
		want   bool
	}{
		{"one from before", "sku-1", visitor(1), 4000, true},
		{"one of that very instant", "sku-1", visitor(1), 5000, true},
		{"one from after: let in again", "sku-1", visitor(1), 5001, false},
		{"another visitor's", "sku-1", visitor(2), 4000, false},
		{"another item's", "sku-2", visitor(1), 4000, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for range 2 { // asked twice, told twice
				if got := b.PassEnded(tc.item, tc.v, tc.issued); got != tc.want {
					t.Errorf("%v", got)
				}
			}
		})
	}
}

func TestTheStoresWordEndsAllPassesGivenUpToIt(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ issued, now, until int64 }{
		"those that this node gave before it learned": {issued: 3000, now: 9000, until: 9000},
		"a pass of a second that rounds up":           {issued: 9500, now: 9000, until: 9500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line := &beatLine{report: func(item queue.Item, beats []queue.Beat) queue.TouchReport {
				return queue.TouchReport{Header: queue.Header{Item: item}, NowMS: tc.now, Ended: []queue.EndedPass{{Beat: 0, UntilMS: tc.until}}}
			}}
			b := NewBeats(line)
			b.Renew("sku-1", queue.Beat{Visitor: visitor(1), IssuedMS: tc.issued, EndsMS: tc.issued + 1000})
			flush(t, b)
			if !b.PassEnded("sku-1", visitor(1), tc.until) || b.PassEnded("sku-1", visitor(1), tc.until+1) || b.Gone("sku-1", visitor(1)) {
				t.Errorf("at %d %v, after it %v", tc.until, b.PassEnded("sku-1", visitor(1), tc.until), b.PassEnded("sku-1", visitor(1), tc.until+1))
			}
		})
	}
}

func TestWhatIsRememberedOfEndsIsBounded(t *testing.T) { // bounded
	t.Parallel()
	b := NewBeats(&beatLine{})
	const n = 5 * mostKept / 2
	for i := range n {
		b.EndPass("sku-1", visitor(i), 1000)
	}
	if kept := b.of.Len(); kept > 2*mostKept {
		t.Errorf("%d kept", kept)
	}
	for i := n - mostKept; i < n; i++ {
		if !b.PassEnded("sku-1", visitor(i), 1000) {
			t.Fatalf("one of the newest, %d, is forgotten", i)
		}
	}
}

func TestWhatWaitsForTheStoreIsBounded(t *testing.T) { // bounded
	t.Parallel()
	line := &beatLine{fail: map[queue.Item]error{"sku-1": queue.ErrStoreDown}}
	b := NewBeats(line)
	b.Heard("sku-1", visitor(0))
	b.size = mostPending - 1 // as if that many others had been heard
	for i := range 1000 {
		b.Heard("sku-1", visitor(i))
	}
	if b.size != mostPending || b.Dropped() != 998 || len(b.pending["sku-1"]) != 2 {
		t.Fatalf("%d kept, %d dropped", b.size, b.Dropped())
	}
	b.Renew("sku-1", queue.Beat{Visitor: visitor(2000), EndsMS: 1})
	if b.size != mostPending+1 || b.Dropped() != 998 {
		t.Errorf("a renewal was dropped: a session would end with it")
	}
	if err := b.Flush(t.Context()); !errors.Is(err, queue.ErrStoreDown) || b.size != 3 {
		t.Fatalf("%v, %d kept", err, b.size)
	}
	line.during = func() { b.size = mostPending } // others were heard during the call, and have filled the room
	if err := b.Flush(t.Context()); !errors.Is(err, queue.ErrStoreDown) || b.size != mostPending+1 || b.Dropped() != 1000 {
		t.Fatalf("%v, %d kept, %d dropped", err, b.size, b.Dropped())
	}
	line.fail, line.during = nil, nil
	flush(t, b)
	if b.Heard("sku-1", visitor(1)); b.size != 1 {
		t.Errorf("%d kept after all was sent", b.size)
	}
}

func TestAnEndIsToldOnceWhereItWasNews(t *testing.T) {
	t.Parallel()
	type told struct {
		v     queue.Visitor
		until int64
	}
	line := &beatLine{report: func(item queue.Item, beats []queue.Beat) queue.TouchReport {
		r := queue.TouchReport{Header: queue.Header{Item: item, PassesFrom: 10}}
		for i := range beats {
			r.Ended = append(r.Ended, queue.EndedPass{Beat: i, UntilMS: 9000})
		}
		return r
	}}
	b := NewBeats(line)
	var all []told
	b.Told = func(_ queue.Item, v queue.Visitor, until int64) { all = append(all, told{v, until}) }
	b.EndPass("sku-1", visitor(2), 9000)
	for range 2 {
		b.Renew("sku-1", queue.Beat{Visitor: visitor(1), Generation: 10, IssuedMS: 5000, EndsMS: 1})
		b.Renew("sku-1", queue.Beat{Visitor: visitor(2), Generation: 10, IssuedMS: 5000, EndsMS: 1}) // known
		b.Renew("sku-1", queue.Beat{Visitor: visitor(3), Generation: 9, IssuedMS: 5000, EndsMS: 1})  // all know of the generation
		flush(t, b)
	}
	if len(all) != 1 || all[0] != (told{visitor(1), 9000}) {
		t.Errorf("told %v", all)
	}
}

func TestAPlaceHasEndedUpToItsScoreOrInADrawUpToTheInstant(t *testing.T) {
	t.Parallel()
	arrival := func(us int64) queue.Ticket { return queue.Ticket{Score: queue.MaxLot + us, IssuedMS: 1} }
	drawn := func(issued int64) queue.Ticket { return queue.Ticket{Score: 77, IssuedMS: issued} }
	for _, tc := range []struct {
		name  string
		score int64
		t     queue.Ticket
		want  bool
	}{
		{"the place's ticket", queue.MaxLot + 500, arrival(500), true},
		{"that of a later place", queue.MaxLot + 500, arrival(501), false},
		{"a lot from before", 0, drawn(3000), true},
		{"a lot drawn after", 0, drawn(3001), false},
		{"a lot from before, its line open", queue.MaxLot + 500, drawn(3000), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			e := newEnds()
			e.EndPlace("sku-1", visitor(1), tc.score, 3000)
			e.EndPass("sku-1", visitor(1), 3000) // takes nothing from it
			if got := e.PlaceEnded("sku-1", visitor(1), tc.t); got != tc.want {
				t.Errorf("%v", got)
			}
			if e.PlaceEnded("sku-2", visitor(1), tc.t) || e.PlaceEnded("sku-1", visitor(2), tc.t) {
				t.Error("another's")
			}
		})
	}
}

func TestMarksAreThoseThatStillMatter(t *testing.T) {
	t.Parallel()
	e := newEnds()
	e.EndPlace("sku-1", visitor(1), queue.MaxLot+1, 1000) // of an earlier generation
	e.EndPlace("sku-1", visitor(2), queue.MaxLot+2, 5000)
	e.EndPlace("sku-1", visitor(3), 0, 5000) // in a draw: the lot may be taken again
	e.EndPass("sku-1", visitor(4), 2000)     // its session is long over
	e.EndPass("sku-1", visitor(5), 6000)
	e.EndPlace("sku-1", visitor(6), queue.MaxLot+3, 5000)
	e.EndPass("sku-1", visitor(6), 7000)
	e.EndPlace("sku-2", visitor(2), queue.MaxLot+2, 5000)
	e.EndPlace("sku-3", visitor(7), queue.MaxLot+7, 1000)
	e.EndPlace("sku-3", visitor(7), 0, 5000) // a draw of a later generation
	got := e.Marks(map[queue.Item]Since{"sku-1": {PlacesMS: 4000, PassesMS: 3000}, "sku-3": {PlacesMS: 4000}})
	slices.SortFunc(got["sku-1"], func(a, b queue.Mark) int { return cmp.Compare(a.Visitor, b.Visitor) })
	want := map[queue.Item][]queue.Mark{"sku-1": {
		{Visitor: visitor(2), Score: queue.MaxLot + 2, UntilMS: -1}, {Visitor: visitor(5), Score: -1, UntilMS: 6000},
		{Visitor: visitor(6), Score: queue.MaxLot + 3, UntilMS: 7000},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}
