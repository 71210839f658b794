package admin

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
)

// What the live view of an item says, in each state: of four who came one is inside, one has finished, two wait, and three
// were inside before the queue turned on.
func TestTheLiveViewInEveryState(t *testing.T) {
	t.Parallel()
	type view struct {
		waiting, running, reserved, finished float64
		joined, left, admitted               float64
		on, generation                       bool
	}
	for _, tc := range []struct {
		name    string
		actions []queue.SwitchOrder
		want    view
	}{
		{"open", nil, view{2, 1, 3, 1, 4, 0, 2, true, true}},
		{"paused", []queue.SwitchOrder{{Action: queue.Pause}}, view{2, 1, 3, 1, 4, 0, 2, true, true}},
		{"draining", []queue.SwitchOrder{{Action: queue.Drain}}, view{2, 1, 3, 1, 4, 0, 2, true, true}},
		{"closed", []queue.SwitchOrder{{Action: queue.Close}}, view{0, 1, 3, 1, 4, 2, 2, true, true}},
		{"reset", []queue.SwitchOrder{{Action: queue.Reset}}, view{0, 0, 0, 0, 0, 0, 0, true, true}},
		{"off", []queue.SwitchOrder{{Action: queue.Deactivate}}, view{0, 0, 0, 2, 4, 2, 2, false, true}},
		{"off and on again", []queue.SwitchOrder{{Action: queue.Deactivate}, {Action: queue.Activate}}, view{0, 0, 0, 0, 0, 0, 0, true, true}},
		{"prequeue", []queue.SwitchOrder{{Action: queue.Deactivate}, {Action: queue.Gather, OpensMS: 1_900_000_000_000}}, view{0, 0, 0, 0, 0, 0, 0, true, true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			onBothLines(t, func(t *testing.T, with func(*Options)) {
				f := newFixture(t, with)
				version := f.o.Settings.Now().Version()
				_, p := f.o.Settings.Now().For("sku-1")
				do := func(o queue.SwitchOrder) queue.Header {
					t.Helper()
					o.Cause, o.By, o.Limits = queue.ByOperator, "kim", p.Limits(version)
					o.Limits.Inflow = 0 // so that nobody goes in by the rate meanwhile
					r, err := f.line.Switch(t.Context(), "sku-1", o)
					if err != nil {
						t.Fatal(err)
					}
					return r.Header
				}
				var vs []queue.Visitor
				ask := func(v queue.Visitor, create bool) {
					t.Helper()
					if _, err := f.line.Ask(t.Context(), "sku-1", []queue.Ask{{Visitor: v, Create: create}}); err != nil {
						t.Fatal(err)
					}
				}
				do(queue.SwitchOrder{Action: queue.Activate, Reserved: 3})
				for i := range 4 {
					vs = append(vs, queue.Visitor(fmt.Sprintf("visitor-%08d", i)))
					ask(vs[i], true)
				}
				do(queue.SwitchOrder{Action: queue.Admit, Count: 2})
				if _, err := f.line.Step(t.Context(), "sku-1", queue.StepOrder{Most: 300}); err != nil {
					t.Fatal(err)
				}
				ask(vs[0], false)
				ask(vs[1], false)
				if _, err := f.line.End(t.Context(), "sku-1", queue.Ending{Kind: queue.Finish, Visitor: vs[1]}); err != nil {
					t.Fatal(err)
				}
				var h queue.Header
				for _, o := range tc.actions {
					h = do(o)
				}
				got := f.do("GET", base+"/items/sku-1", "").want(t, 200, "")
				books := got.JSON["books"].(map[string]any)
				inflow := got.JSON["inflow"].(map[string]any)
				is := view{
					got.at("waiting").(float64), got.at("running").(float64), got.at("reserved").(float64), got.at("finished").(float64),
					books["joined"].(float64), books["left"].(float64), books["admitted"].(float64),
					got.at("state") != "off", got.at("generation").(float64) > 0,
				}
				if is != tc.want {
					t.Errorf("%+v, want %+v", is, tc.want)
				}
				on := tc.want.on
				for field, known := range map[string]bool{
					"since": on, "cause": on, "by": on, "opens_at": tc.name == "prequeue", "waiting": true, "books": true, "sale": false,
				} {
					if (got.JSON[field] != nil) != known {
						t.Errorf("%s is %v", field, got.JSON[field])
					}
				}
				if on && len(tc.actions) > 0 && got.at("since") != time.UnixMilli(h.ActivatedMS).UTC().Format("2006-01-02T15:04:05.000Z") {
					t.Errorf("since %v, want that of %d", got.at("since"), h.ActivatedMS)
				}
				if set := inflow["set_per_second"].(float64); on && set != 0 || !on && set != p.InflowPerSecond {
					t.Errorf("inflow %v", inflow)
				}
				if inflow["source"] != "policy" || !on && inflow["measured_per_second"] != nil || inflow["owed"] != 0. {
					t.Errorf("inflow %v", inflow)
				}
				// The list says the same.
				list := f.do("GET", base+"/items?q=sku-1", "").want(t, 200, "").JSON["items"].([]any)
				if len(list) != 1 || !reflect.DeepEqual(list[0].(map[string]any)["books"], got.JSON["books"]) {
					t.Errorf("the list says %v", list)
				}
			})
		})
	}
}
