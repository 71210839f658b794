package queue_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/sluicehq/sluice/queue"
)

func TestABoardKeepsTheNewestHeader(t *testing.T) {
	t.Parallel()
	var b queue.Board
	if h := b.Get("sku-1"); h != (queue.Header{Item: "sku-1"}) || b.On() != 0 || len(b.All()) != 0 {
		t.Fatalf("an empty board: %+v, %d on, %v", h, b.On(), b.All())
	}
	for _, tc := range []struct {
		name  string
		put   queue.Header
		taken bool
		on    int64
	}{
		{"the first", queue.Header{Item: "sku-1", Version: 5, State: queue.Open}, true, 1},
		{"the same again", queue.Header{Item: "sku-1", Version: 5, State: queue.Open}, false, 1},
		{"an older one", queue.Header{Item: "sku-1", Version: 4}, false, 1},
		{"a newer one of the same state", queue.Header{Item: "sku-1", Version: 6, State: queue.Open}, true, 1},
		{"another item that is off", queue.Header{Item: "sku-2", Version: 1}, true, 1},
		{"a pause is on too", queue.Header{Item: "sku-1", Version: 7, State: queue.Paused}, true, 1},
		{"another item turns on", queue.Header{Item: "sku-2", Version: 2, State: queue.Closed}, true, 2},
		{"off", queue.Header{Item: "sku-1", Version: 8}, true, 1},
	} {
		old := b.Get(tc.put.Item)
		if taken := b.Put(tc.put); taken != tc.taken || b.On() != tc.on {
			t.Fatalf("%s: taken %v, %d on", tc.name, taken, b.On())
		}
		want := old
		if tc.taken {
			want = tc.put
		}
		if got := b.Get(tc.put.Item); got != want {
			t.Fatalf("%s: %+v, want %+v", tc.name, got, want)
		}
	}
	if all := b.All(); len(all) != 2 {
		t.Errorf("all: %+v", all)
	}
}

func TestABoardForgetsOnlyWhatIsOff(t *testing.T) {
	t.Parallel()
	var b queue.Board
	b.Put(queue.Header{Item: "on", Version: 1, State: queue.Prequeue})
	b.Put(queue.Header{Item: "off", Version: 1})
	for _, item := range []queue.Item{"on", "off", "never seen"} {
		b.Forget(item)
	}
	if all := b.All(); len(all) != 1 || all[0].Item != "on" || b.On() != 1 {
		t.Errorf("%+v, %d on", all, b.On())
	}
}

// TestABoardOnlyEverGoesForward: many learn of the same headers in any order; each is taken over at most once, over an
// older one, and told of as often.
func TestABoardOnlyEverGoesForward(t *testing.T) {
	t.Parallel()
	const items, versions, nodes = 3, 200, 8
	var mu sync.Mutex
	before := map[queue.Item]map[int64]int64{} // version taken over -> the one it replaced
	b := queue.Board{Changed: func(old, now queue.Header) {
		mu.Lock()
		defer mu.Unlock()
		if before[now.Item] == nil {
			before[now.Item] = map[int64]int64{}
		}
		if _, twice := before[now.Item][now.Version]; twice || old.Item != now.Item || old.Version >= now.Version {
			t.Errorf("told of %+v over %+v", now, old)
		}
		before[now.Item][now.Version] = old.Version
	}}
	name := func(i int) queue.Item { return queue.Item('a' + rune(i)) }
	var taken [nodes]int
	var wg sync.WaitGroup
	for n := range nodes {
		wg.Go(func() {
			last := map[queue.Item]int64{}
			for _, k := range rand.Perm(items * versions) {
				h := queue.Header{Item: name(k % items), Version: int64(k/items + 1), State: queue.State(k / items % 5)}
				if b.Put(h) {
					taken[n]++
				}
				if now := b.Get(h.Item).Version; now < last[h.Item] || now < h.Version {
					t.Errorf("version %d after %d and the put of %d", now, last[h.Item], h.Version)
				} else {
					last[h.Item] = now
				}
			}
		})
	}
	wg.Wait()

	told, puts := 0, 0
	for _, n := range taken {
		puts += n
	}
	var on int64
	for i := range items {
		chain := before[name(i)]
		told += len(chain)
		steps := 0
		for v := int64(versions); v > 0 && steps <= len(chain); v = chain[v] {
			steps++
		}
		if steps != len(chain) {
			t.Errorf("%s: %d of %d changes lead from nothing to the newest", name(i), steps, len(chain))
		}
		if h := b.Get(name(i)); h.Version != versions {
			t.Errorf("%s: version %d at the end", name(i), h.Version)
		} else if h.On() {
			on++
		}
	}
	if told != puts || b.On() != on {
		t.Errorf("%d taken over, told of %d; %d on, want %d", puts, told, b.On(), on)
	}
}

// TestTheNewestOfManyAtOnceStays: each of them is newer than what the board held when it came.
func TestTheNewestOfManyAtOnceStays(t *testing.T) {
	t.Parallel()
	const nodes = 4
	for round := range 5_000 {
		var b queue.Board
		var wg sync.WaitGroup
		start := make(chan struct{})
		for n := range nodes {
			wg.Go(func() {
				<-start
				b.Put(queue.Header{Item: "sku-1", Version: int64(nodes - n), State: queue.Open})
			})
		}
		close(start)
		wg.Wait()
		if h := b.Get("sku-1"); h.Version != nodes || b.On() != 1 {
			t.Fatalf("round %d: version %d stayed, %d on", round, h.Version, b.On())
		}
	}
}

// TestForgettingLosesNoQueueThatTurnsOn: the old header goes at the very instant at which a new one comes.
func TestForgettingLosesNoQueueThatTurnsOn(t *testing.T) {
	t.Parallel()
	for range 20_000 {
		var b queue.Board
		b.Put(queue.Header{Item: "sku-1", Version: 1})
		var wg sync.WaitGroup
		wg.Go(func() { b.Forget("sku-1") })
		wg.Go(func() { b.Put(queue.Header{Item: "sku-1", Version: 2, State: queue.Open}) })
		wg.Wait()
		if h := b.Get("sku-1"); !h.On() || b.On() != 1 {
			t.Fatalf("%+v, %d on", h, b.On())
		}
	}
}
