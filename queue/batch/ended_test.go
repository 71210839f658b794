package batch

import (
	"errors"
	"testing"

	"github.com/sluicehq/sluice/queue"
)

func TestAPassHasEndedUpToTheInstantOfTheEnd(t *testing.T) {
	t.Parallel()
	b := NewBeats(&beatLine{})
	b.End("sku-1", visitor(1), 5000)
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
				if got := b.Ended(tc.item, tc.v, tc.issued); got != tc.want {
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
				return queue.TouchReport{Header: queue.Header{Item: item}, NowMS: tc.now, Ended: []int{0}}
			}}
			b := NewBeats(line)
			b.Renew("sku-1", queue.Beat{Visitor: visitor(1), IssuedMS: tc.issued, EndsMS: tc.issued + 1000})
			flush(t, b)
			if !b.Ended("sku-1", visitor(1), tc.until) || b.Ended("sku-1", visitor(1), tc.until+1) || b.Gone("sku-1", visitor(1)) {
				t.Errorf("at %d %v, after it %v", tc.until, b.Ended("sku-1", visitor(1), tc.until), b.Ended("sku-1", visitor(1), tc.until+1))
			}
		})
	}
}

func TestWhatIsRememberedOfEndsIsBounded(t *testing.T) { // bounded
	t.Parallel()
	b := NewBeats(&beatLine{})
	const n = 5 * mostKept / 2
	for i := range n {
		b.End("sku-1", visitor(i), 1000)
	}
	if kept := b.ended.Len(); kept > 2*mostKept {
		t.Errorf("%d kept", kept)
	}
	for i := n - mostKept; i < n; i++ {
		if !b.Ended("sku-1", visitor(i), 1000) {
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
