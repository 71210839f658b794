package detector

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/sluicehq/sluice/queue"
)

var sale = Needs{Trigger: queue.Trigger{Requests: 500, WindowMS: 10_000}}

func TestCountTripsOnThisNodesOwnShare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		needs    Needs
		newcomer bool
		n        int
		gapMS    int64
		want     bool
	}{
		{"490 of 500 do not trip", sale, false, 490, 0, false}, // B017
		{"the 500th of one instant trips", sale, false, 500, 0, true},
		{"500 in more than the window do not", sale, false, 500, 21, false},
		{"500 within the window do", sale, false, 500, 19, true},
		{"newcomers trip by themselves", Needs{Trigger: queue.Trigger{Requests: 500, WindowMS: 10_000, NewVisitorsPerMinute: 100}}, true, 100, 500, true},
		{"newcomers spread over more than a minute do not", Needs{Trigger: queue.Trigger{Requests: 500, WindowMS: 10_000, NewVisitorsPerMinute: 100}}, true, 300, 610, false},
		{"people known from before are no newcomers", Needs{Trigger: queue.Trigger{Requests: 500, WindowMS: 10_000, NewVisitorsPerMinute: 100}}, false, 400, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := NewCounter()
			for i := range c.n {
				trip := k.Count("sku-1", "visitor-000000001", c.newcomer, c.needs, 1000+int64(i)*c.gapMS)
				if last := i == c.n-1; trip != (c.want && last) {
					t.Fatalf("request %d: trip = %v", i+1, trip)
				}
			}
		})
	}
}

// Invariant bounded: made-up items leave memory flat, and a hot item is found in the middle of them.
func TestAFloodOfMadeUpItemsLeavesMemoryFlat(t *testing.T) {
	k := NewCounter()
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	tripped := false
	const flood = 1_000_000
	for i := range flood {
		now := int64(i / 100) // 100,000 a second
		k.Count(queue.Item(fmt.Sprintf("made-up-%d", i)), "visitor-000000001", false, sale, now)
		if i > flood/2 && i%50 == 0 { // 2,000 a second
			tripped = tripped || k.Count("hot", "visitor-000000001", false, sale, now)
		}
		if i%10_000 == 0 {
			k.drain(i%100_000 == 0, now)
		}
	}
	if !tripped {
		t.Error("the hot item was not seen")
	}
	if grown := int64(heap()) - int64(before); grown > 32<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	names := 0
	for i := range k.shards {
		names += len(k.shards[i].items)
	}
	if names > shardCount*namesPerShard {
		t.Errorf("%d names", names)
	}
	if k.Dropped() == 0 {
		t.Error("nothing is said to be dropped")
	}
	// All of it is past: a survey forgets every item.
	k.drain(true, 1_000_000)
	k.drain(true, 1_000_000)
	for i := range k.shards {
		if n := len(k.shards[i].entries); n > 0 {
			t.Fatalf("shard %d keeps %d items of the past", i, n)
		}
	}
	runtime.KeepAlive(k)
}

func TestDrain(t *testing.T) {
	t.Parallel()
	count := func(k *Counter, item string, n int, now int64) {
		for range n {
			k.Count(queue.Item(item), "visitor-000000001", false, sale, now)
		}
	}
	t.Run("counts keep their age", func(t *testing.T) {
		t.Parallel()
		k := NewCounter()
		count(k, "a", 2, 1000)
		count(k, "a", 3, 1950)
		got := k.drain(true, 2000)
		if len(got) != 1 || fmt.Sprint(got[0].Counts) != "[{1000 2} {50 3}]" {
			t.Errorf("%+v", got)
		}
		if again := k.drain(true, 2000); len(again) != 0 {
			t.Errorf("again: %+v", again)
		}
	})
	t.Run("among few items the least counts go too", func(t *testing.T) {
		t.Parallel()
		k := NewCounter()
		for i := range crowded {
			count(k, fmt.Sprint("item-", i), 1, 1000)
		}
		if got := k.drain(true, 1000); len(got) != crowded {
			t.Errorf("%d samples", len(got))
		}
	})
	t.Run("among many those below a hundredth of their trigger stay", func(t *testing.T) {
		t.Parallel()
		k := NewCounter()
		for i := range crowded + 1 {
			count(k, fmt.Sprint("item-", i), 4, 1000)
		}
		count(k, "busy", 5, 1000)
		if got := k.drain(true, 1000); len(got) != 1 || got[0].Item != "busy" {
			t.Errorf("%d samples", len(got))
		}
		count(k, "item-7", 1, 2000)
		if got := k.drain(true, 2000); len(got) != 1 || got[0].Requests() != 5 {
			t.Errorf("what stayed did not count on: %+v", got)
		}
		before := k.Dropped()
		if k.drain(true, 12_000); k.Dropped()-before != 4*crowded {
			t.Errorf("dropped %d after their window", k.Dropped()-before)
		}
	})
	t.Run("one flush takes the busiest", func(t *testing.T) {
		t.Parallel()
		k := NewCounter()
		for i := range mostSamples + 10 {
			count(k, fmt.Sprint("item-", i), 5, 1000)
		}
		count(k, "item-3", 1, 1000)
		got := k.drain(true, 1000)
		if len(got) != mostSamples || got[0].Item != "item-3" {
			t.Errorf("%d samples, the first %s", len(got), got[0].Item)
		}
		if rest := k.drain(true, 1000); len(rest) != 10 {
			t.Errorf("then %d", len(rest))
		}
	})
	t.Run("an item close to its trigger goes at the fast pace", func(t *testing.T) {
		t.Parallel()
		k := NewCounter()
		count(k, "far", 3, 1000)
		count(k, "near", 3, 1000)
		k.drain(true, 1000)
		k.learn(Verdict{Item: "far", Measures: Measures{Requests: 240}})
		k.learn(Verdict{Item: "near", Measures: Measures{Requests: 260}})
		count(k, "far", 3, 1100)
		count(k, "near", 3, 1100)
		if got := k.drain(false, 1100); len(got) != 1 || got[0].Item != "near" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("what is pending could trip it with the parts of the other nodes, so it goes at once", func(t *testing.T) {
		t.Parallel()
		k := NewCounter()
		k.nodes.Store(3)
		count(k, "a", 1, 1000)
		k.learn(Verdict{Item: "a", Measures: Measures{Requests: 200}})
		count(k, "a", 98, 1000)
		if len(k.wake) != 0 {
			t.Fatal("too early")
		}
		count(k, "a", 1, 1000)
		if len(k.wake) != 1 {
			t.Fatal("no wake at (500 - 200) / 3 pending")
		}
		if got := k.drain(false, 1000); len(got) != 1 {
			t.Errorf("%+v", got)
		}
	})
}

func TestActiveVisitorsAreBounded(t *testing.T) {
	t.Parallel()
	k := NewCounter()
	needs := Needs{Trigger: queue.Trigger{Requests: 1e9, WindowMS: 10_000, ActiveUsers: 1e5}, SessionMS: 300_000}
	for i := range visitorsPerItem + 5 {
		k.Count("a", queue.Visitor(fmt.Sprintf("visitor-%09d", i/2)), false, needs, 1000)
		k.Count("a", queue.Visitor(fmt.Sprintf("visitor-%09d", i)), false, needs, 1000)
	}
	got := k.drain(false, 1000) // a full set is flushed at once
	if len(got) != 1 || len(got[0].Active) != visitorsPerItem {
		t.Fatalf("%d samples", len(got))
	}
	if k.visitors.Load() != 0 || k.Dropped() != 5 {
		t.Errorf("%d visitors left, %d dropped", k.visitors.Load(), k.Dropped())
	}
}

func BenchmarkCount(b *testing.B) {
	for name, needs := range map[string]Needs{
		"requests": sale,
		"all":      {Trigger: queue.Trigger{Requests: 1e9, WindowMS: 10_000, NewVisitorsPerMinute: 1e9, ActiveUsers: 1e5}, SessionMS: 300_000},
	} {
		b.Run(name, func(b *testing.B) {
			k := NewCounter()
			items := make([]queue.Item, 1000)
			for i := range items {
				items[i] = queue.Item(fmt.Sprint("sku-", i))
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				k.Count(items[i%1000], "visitor-000000001", true, needs, int64(i/1000))
				if i%100_000 == 0 {
					b.StopTimer()
					k.drain(true, int64(i/1000))
					b.StartTimer()
				}
			}
		})
	}
}

// Below a hundredth of their limit active visitors are kept and not told; what is told follows at once after that.
func TestActiveVisitorsAreToldFromAHundredthOn(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name         string
		trigger, max int64
		least        int
	}{
		{"of the trigger", 1000, 0, 10},
		{"of the limit", 0, 1000, 10},
		{"of the lower of both", 5000, 700, 7},
		{"where that is one", 0, 50, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			k := NewCounter()
			needs := Needs{Trigger: sale.Trigger, MaxActive: tc.max, SessionMS: 300_000}
			needs.Trigger.ActiveUsers = tc.trigger
			now, told := int64(1000), 0
			for i := range 3 * tc.least {
				now += 12_000 // further apart than the window of the requests
				k.Count("a", queue.Visitor(fmt.Sprintf("visitor-%09d", i)), false, needs, now)
				for _, s := range k.drain(true, now) {
					told += len(s.Active)
				}
				want := i + 1
				if want < tc.least {
					want = 0
				}
				if told != want {
					t.Fatalf("%d told of %d", told, i+1)
				}
			}
			k.drain(true, now+20_000)
			if k.visitors.Load() != 0 {
				t.Errorf("%d are kept", k.visitors.Load())
			}
		})
	}
	t.Run("a trip tells of all", func(t *testing.T) {
		t.Parallel()
		k := NewCounter()
		k.Count("a", "visitor-000000001", false, Needs{Trigger: sale.Trigger, MaxActive: 1000, SessionMS: 300_000}, 1000)
		if s := k.takeOne("a", 1000); len(s.Active) != 1 {
			t.Errorf("%+v", s)
		}
	})
	t.Run("who is not told is forgotten after a session", func(t *testing.T) {
		t.Parallel()
		k := NewCounter()
		k.Count("a", "visitor-000000001", false, Needs{Trigger: sale.Trigger, MaxActive: 1000, SessionMS: 300_000}, 1000)
		k.drain(true, 2000)
		if k.drain(true, 300_000); k.visitors.Load() != 1 {
			t.Error("forgotten too soon")
		}
		if k.drain(true, 301_000); k.visitors.Load() != 0 {
			t.Error("kept")
		}
	})
}

// Invariant bounded: however the policy counts, and however fast made-up ids come, few of them are told of at a time.
func TestMadeUpItemsAreHardlyTold(t *testing.T) {
	t.Parallel()
	items := 40_000
	if os.Getenv("CASES") == "full" {
		items = 1_000_000
	}
	for name, change := range map[string]func(*Needs){
		"max_active_users 10":                    func(n *Needs) { n.MaxActive = 10 },
		"max_active_users 1000":                  func(n *Needs) { n.MaxActive = 1000 },
		"trigger_active_users 50":                func(n *Needs) { n.Trigger.ActiveUsers = 50 },
		"trigger_active_users 500":               func(n *Needs) { n.Trigger.ActiveUsers = 500 },
		"trigger_new_visitors_per_minute 100":    func(n *Needs) { n.Trigger.NewVisitorsPerMinute = 100 },
		"trigger_requests 50":                    func(n *Needs) { n.Trigger.Requests = 50 },
		"a window of ten minutes":                func(n *Needs) { n.Trigger.WindowMS = 600_000 },
		"all of them, and as low as they can be": func(n *Needs) { n.MaxActive, n.Trigger.ActiveUsers, n.Trigger.NewVisitorsPerMinute = 3, 3, 20 },
	} {
		for pace, perSecond := range map[string]int{"at once": 50_000, "steadily": 1000, "slowly": 190} {
			t.Run(name+", "+pace, func(t *testing.T) {
				t.Parallel()
				k := NewCounter()
				needs := Needs{Trigger: sale.Trigger, SessionMS: 300_000}
				change(&needs)
				// What the store keeps, until when: as count.lua does.
				ends := map[string]int64{}
				most, now := 0, int64(0)
				for i := range min(items, 1000*perSecond) { // 1,000 seconds are over three sessions
					if i%perSecond == 0 {
						now += 1000
						for _, s := range k.drain(true, now) {
							item := string(s.Item)
							ends[item+" traffic"] = now + min(2*needs.Trigger.WindowMS, needs.Trigger.WindowMS*1002/1000+1200)
							if len(s.Newcomers) > 0 {
								ends[item+" newcomers"] = now + NewcomersMS + 1200
							}
							if len(s.Active) > 0 {
								ends[item+" active"], ends[item+" slot"] = now+2*needs.SessionMS, now+needs.SessionMS+12_500
							}
						}
						for key, end := range ends {
							if end <= now {
								delete(ends, key)
							}
						}
						most = max(most, len(ends))
					}
					k.Count(queue.Item(fmt.Sprintf("made-up-%d", i)), queue.Visitor(fmt.Sprintf("visitor-%09d", i)), true, needs, now)
				}
				if most > 20_000 {
					t.Errorf("%d keys", most)
				}
			})
		}
	}
}
