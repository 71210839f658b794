package detector

import (
	"testing"

	"github.com/sluicehq/sluice/queue"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	all := queue.Trigger{Requests: 500, WindowMS: 10_000, NewVisitorsPerMinute: 100, ActiveUsers: 1000}
	for _, c := range []struct {
		name    string
		trigger queue.Trigger
		m       Measures
		by      string
	}{
		{"requests trip at the trigger", all, Measures{Requests: 500}, ByRequests},
		{"requests just under do not", all, Measures{Requests: 499.9}, ""},
		{"newcomers trip by themselves", all, Measures{Newcomers: 100}, ByNewcomers},
		{"newcomers just under do not", all, Measures{Newcomers: 99.9}, ""},
		{"active users trip by themselves", all, Measures{Active: 1000}, ByActive},
		{"active users just under do not", all, Measures{Active: 999}, ""},
		{"a trigger of 0 is none", queue.Trigger{Requests: 500}, Measures{Requests: 499, Newcomers: 1e9, Active: 1e9}, ""},
		{"all near misses together are still none", all, Measures{499, 99, 999}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if by, tripped := Decide(c.trigger, c.m); by != c.by || tripped != (c.by != "") {
				t.Errorf("Decide = %q, %v; want %q", by, tripped, c.by)
			}
		})
	}
}

func TestLow(t *testing.T) {
	t.Parallel()
	all := queue.Trigger{Requests: 500, NewVisitorsPerMinute: 100, ActiveUsers: 1000}
	for _, c := range []struct {
		name    string
		trigger queue.Trigger
		ratio   float64
		m       Measures
		want    bool
	}{
		{"everything below its half is low", all, 0.5, Measures{249.9, 49, 499}, true},
		{"requests at the half are not", all, 0.5, Measures{250, 0, 0}, false},
		{"newcomers at the half are not", all, 0.5, Measures{0, 50, 0}, false},
		{"active users at the half are not", all, 0.5, Measures{0, 0, 500}, false},
		{"a trigger that is not set does not hold it up", queue.Trigger{Requests: 500}, 0.5, Measures{0, 1e9, 1e9}, true},
		{"at ratio 0 nothing is ever low", all, 0, Measures{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := Low(c.trigger, c.ratio, c.m); got != c.want {
				t.Errorf("Low = %v, want %v", got, c.want)
			}
		})
	}
}
