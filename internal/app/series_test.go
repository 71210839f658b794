package app_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/clock"
)

// B089: sale after sale, items come and go, and what a node keeps of them goes too: their series within the hour, and the
// memory. It runs beside no other test of the package, since it looks at the whole heap.
func TestNothingPilesUpFromSaleToSale(t *testing.T) {
	rounds, items := 5, 20
	if full {
		rounds, items = 30, 200
	}
	const early = 3
	r := newRig(t, 0)
	r.redis = nil
	hand := clock.At(time.Now())
	r.start(0, hand)
	var series, heap [2]int // after the third round and after the last
	for round := 1; round <= rounds; round++ {
		item := func(i int) string { return fmt.Sprintf("sale-%d-%d", round, i) }
		people := map[int]*visitor{} // at one item in twenty: what is remembered of people goes by the clock on the wall
		for i := 0; i < items; i += 20 {
			people[i] = r.visitor()
		}
		together(8, func(worker int) {
			for i := worker; i < items; i += 8 {
				r.must("PUT", "/policies/"+item(i), map[string]any{"inflow_per_second": 5})
				r.must("POST", "/items/"+item(i)+"/activate", nil)
				if v := people[i]; v != nil {
					v.check(0, item(i))
				}
			}
		})
		shown := func() int { return strings.Count(r.page(r.nodes[0]), fmt.Sprintf(`item="sale-%d-`, round)) }
		for range 6 { // a minute
			hand.Add(10 * time.Second)
			for i, v := range people {
				v.status(0, item(i))
			}
		}
		r.eventually(5*time.Second, "items are shown", func() bool { return shown() > 0 })
		r.eventually(5*time.Second, "people are let in", func() bool { return people[0].status(0, item(0)).Action == "pass" })
		together(8, func(worker int) {
			for i := worker; i < items; i += 8 {
				r.must("POST", "/items/"+item(i)+"/deactivate", map[string]any{"confirm": item(i)})
				r.must("DELETE", "/policies/"+item(i), nil)
			}
		})
		hand.Add(time.Hour)
		last := round == rounds
		if last {
			r.eventually(30*time.Second, "the series of the round are gone", func() bool { return shown() == 0 })
		}
		hand.Add(24 * time.Hour)
		if round == early || last {
			at := 0
			if last {
				at = 1
			}
			r.eventually(30*time.Second, "queues that were off for a day are forgotten", func() bool {
				kept, err := os.ReadFile(filepath.Join(r.nodes[0].cfg.DataDir, "queues.json"))
				return err == nil && !bytes.Contains(kept, []byte(item(0)+`"`))
			})
			for line := range strings.Lines(r.page(r.nodes[0])) {
				if !strings.HasPrefix(line, "#") {
					series[at]++
				}
			}
			heap[at] = r.heap()
		}
	}
	t.Logf("%d series and %d KB of heap after round %d, %d and %d after round %d", series[0], heap[0]>>10, early, series[1], heap[1]>>10, rounds)
	if series[1] > series[0]*110/100 || heap[1] > heap[0]*110/100 {
		t.Errorf("%d series and %d bytes of heap after round %d, %d and %d after round %d", series[0], heap[0], early, series[1], heap[1], rounds)
	}
}

// heap is what is in use once all garbage is collected, the log of the nodes left out.
func (r *rig) heap() int {
	for _, n := range r.nodes {
		n.log.mu.Lock()
		n.log.b = bytes.Buffer{}
		n.log.mu.Unlock()
	}
	r.client.CloseIdleConnections()
	runtime.GC()
	runtime.GC() // pools let go at the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
