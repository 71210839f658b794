package settings

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/scheduler/sale"
)

// BenchmarkInForce is what a check looks up: the limits in force for an item, among 10,000 policies, half of them globs with
// their stars in all places, and 1,000 sales that are on, a tenth of them of globs.
func BenchmarkInForce(b *testing.B) {
	now := time.Date(2026, 12, 1, 11, 0, 0, 0, time.UTC).UnixMilli()
	d := Data{Version: now - 3_600_000, Policies: map[queue.Pattern]queue.Policy{"*": queue.DefaultPolicy()}}
	globs := []string{"concert-%d-*", "shop-%d*-limited", "*-drop-%d", "*-artist-%d-*"}
	for i := range 5000 {
		d.Policies[queue.Pattern(fmt.Sprintf("sku-%d", i))] = queue.DefaultPolicy()
		d.Policies[queue.Pattern(fmt.Sprintf(globs[i%len(globs)], i))] = queue.DefaultPolicy()
	}
	for i := range 1000 {
		s := sale.Sale{
			ID: fmt.Sprintf("sale-%d", i), Name: "Sale", Item: queue.Pattern(fmt.Sprintf("sku-%d", i)), TimeZone: "UTC",
			OpensMS: now - 60_000, ClosesMS: now + 3_600_000, Overrides: []byte(`{"inflow_per_second":20}`), Ramp: []sale.RampStep{{AfterSeconds: 30, InflowPerSecond: 50}},
		}
		if i%10 == 0 {
			s.Item += "-*"
		}
		d.Sales = append(d.Sales, s)
	}
	s := New(d)
	for _, item := range []queue.Item{"sku-4000", "sku-501", "sku-500-red", "concert-8-seoul", "the-artist-7-live", "shop-1-shoes-limited", "autumn-drop-6", "unheard-of"} {
		b.Run(string(item), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.LimitsAt(item, now)
			}
		})
	}
}
