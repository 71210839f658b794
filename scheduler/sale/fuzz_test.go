package sale

import (
	"encoding/json"
	"testing"
	"time"
)

// FuzzRepeat: whatever expression is taken, its times go on, and are those of a clock in the zone.
func FuzzRepeat(f *testing.F) {
	for _, s := range []string{"0 11 * * 5", "*/5 * * * *", "0 0 29 2 *", "30 2 * * 7", "0 0 31 4 *", "1-59/2 0,12 1 JAN mon-fri", "= * * * *", "", "* * * * * *", "0 11 ? * 5"} {
		f.Add(s, int64(1_790_000_000))
	}
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string, from int64) {
		r, err := parseRepeat(text, zone)
		if err != nil {
			return
		}
		at := time.Unix(min(max(from, 946_684_800), 4_000_000_000), 0)
		for range 3 {
			next, _ := r.next(at)
			if next.IsZero() {
				return // none in years
			}
			if !next.After(at) || next.Nanosecond() != 0 || next.Second() != 0 {
				t.Fatalf("%q: after %v comes %v", text, at, next)
			}
			at = next
		}
	})
}

// FuzzForm: a sale that is taken is read back as the same from what it is written as, and its occurrences rise.
func FuzzForm(f *testing.F) {
	for _, s := range []string{
		`{"name":"Sale","item":"sku-1","opens_at":"2026-12-01T11:00:00Z"}`,
		`{"name":"Sale","item":"sku-*","prequeue_at":"2026-03-29T01:30","opens_at":"2026-03-29T03:30","closes_at":"2026-03-29T12:00","time_zone":"Europe/Berlin","repeat":"30 3 * * 0"}`,
		`{"name":"Sale","item":"sku-1","opens_at":"2026-12-01T11:00:00+09:00","ramp":[{"after_seconds":0,"inflow_per_second":1}],"overrides":{"order":"random"}}`,
		`{"name":"","item":"*","opens_at":"2026-03-29T02:30","time_zone":"Local"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var form Form
		if json.Unmarshal(in, &form) != nil {
			return
		}
		plan, err := form.Plan("id")
		if err != nil {
			return
		}
		again, err := plan.Form().Plan("id")
		if err != nil || !again.Form().Same(plan.Form()) {
			t.Fatalf("%s is written as %+v, which gives %v", in, plan.Form(), err)
		}
		last := int64(0)
		for _, o := range plan.Upcoming(0, 4) {
			if o.OpensMS <= last || o.EndMS != 0 && o.EndMS < o.OpensMS {
				t.Fatalf("%s opens at %d, then at %+v", in, last, o)
			}
			last = o.OpensMS
		}
	})
}
