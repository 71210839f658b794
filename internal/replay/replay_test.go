package replay

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/internal/trace"
	"github.com/sluicehq/sluice/queue"
)

// read makes a trace of CSV lines without the header.
func read(t testing.TB, lines string) *trace.Trace {
	t.Helper()
	tr, err := trace.ReadFrom("test", strings.NewReader("t_ms,visitor,item\n"+lines), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.Problems) > 0 {
		t.Fatal(tr.Problems)
	}
	return tr
}

func run(t testing.TB, tr *trace.Trace, o Options, sets ...string) *Report {
	t.Helper()
	ps, err := Policies(nil, sets)
	if err != nil {
		t.Fatal(err)
	}
	o.Policies = ps
	r, err := Run(t.Context(), tr, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// text writes activations as `on-off grace joined admitted most`, times in ms.
func text(as []Activation) string {
	var out []string
	for _, a := range as {
		off := "never"
		if a.ReleasedMS != nil {
			off = fmt.Sprint(*a.ReleasedMS)
		}
		out = append(out, fmt.Sprintf("%d-%s %d %d %d %d", a.ActivatedMS, off, a.Grace, a.Joined, a.Admitted, a.PeakWaiting))
	}
	return strings.Join(out, "; ")
}

// many makes n requests of n visitors at one instant.
func many(n int, ms int64, prefix string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d,%s%d,x\n", ms, prefix, i)
	}
	return b.String()
}

func TestRun(t *testing.T) {
	t.Parallel()
	small := []string{"trigger_requests=3", "inflow_per_second=0.5", "session_seconds=30", "release_after_seconds=20"}
	for _, c := range []struct {
		name  string
		lines string
		o     Options
		sets  []string
		want  string // activations; "" = none
		waits string
	}{
		{"the example of the truth, checked by hand",
			"0,a,x\n1000,b,x\n2000,c,x\n3000,d,x\n3500,a,x\n5000,d,x\n9000,e,x\n35000,f,x\n",
			Options{}, small, "2000-34951 2 3 3 2", "2000 3000 3000"},
		{"one exactly as old as the window counts no more", "0,a,x\n5000,b,x\n10000,c,x\n", Options{}, small, "", ""},
		// B017
		{"490 of 500 at one instant do not turn it on", many(490, 1000, "v"), Options{}, nil, "", ""},
		{"510 at one instant do, once", many(510, 1000, "v"), Options{}, nil, "1000-70951 499 11 11 11", "120 220 220"},
		{"people with one slot wait for a session to end", "0,a,x\n1000,b,x\n", Options{},
			[]string{"trigger_requests=2", "inflow_per_second=1", "session_seconds=30", "release_after_seconds=20", "max_active_users=1"},
			"1000-50000 1 1 1 1", "29000 29000 29000"},
		{"a session that no request renews ends after the claim", "0,a,x\n1000,b,x\n1500,c,x\n20000,c,x\n35000,c,x\n", Options{},
			[]string{"trigger_requests=3", "inflow_per_second=1", "session_seconds=30", "release_after_seconds=60", "session_renewal=false"},
			"1500-70951 2 2 2 1", "0 1000 1000"},
		{"a full line refuses", many(3, 0, "v") + many(5, 0, "w"), Options{}, append(small, "max_waiting=2"), "0-29982 2 2 2 2", "2000 4000 4000"},
		{"mode on is on from the first request, for ever", "0,a,x\n", Options{}, []string{"mode=on", "inflow_per_second=1"}, "0-never 0 1 1 1", "1000 1000 1000"},
		{"mode off never is", many(999, 0, "v"), Options{}, []string{"mode=off"}, "", ""},
		{"at inflow 0 nobody goes in, and the replay ends", many(4, 0, "v"), Options{}, []string{"trigger_requests=3", "inflow_per_second=0"}, "0-never 2 2 0 2", ""},
		{"at release ratio 0 it is never over", many(3, 0, "v"), Options{}, append(small, "release_ratio=0"), "0-never 2 1 1 1", "2000 2000 2000"},
		{"released at once where nothing has to last", many(3, 0, "v"), Options{}, append(small, "release_after_seconds=0"), "0-9951 2 1 1 1", "2000 2000 2000"},
		{"newcomers turn it on by themselves", many(5, 7000, "v"), Options{}, append(small, "trigger_requests=99", "trigger_new_visitors_per_minute=4"), "7000-86961 3 2 2 2", "2000 4000 4000"},
		{"the same people again are no newcomers", many(3, 7000, "v") + many(3, 8000, "v"), Options{}, append(small, "trigger_requests=99", "trigger_new_visitors_per_minute=4"), "", ""},
		{"active users turn it on by themselves", "0,a,x\n5000,b,x\n15000,c,x\n29000,d,x\n", Options{}, append(small, "trigger_requests=99", "trigger_active_users=4", "release_ratio=1"), "29000-51000 3 1 1 1", "2000 2000 2000"},
		{"those whose session is over are not active", "0,a,x\n5000,b,x\n15000,c,x\n30000,d,x\n", Options{}, append(small, "trigger_requests=99", "trigger_active_users=4"), "", ""},
		{"everybody who leaves is gone after abandon_seconds", many(3, 0, "v") + many(60, 0, "w"), Options{LeaveShare: 1},
			append(small, "abandon_seconds=30"), "0-50000 2 61 14 61", "14000 28000 28000"},
		{"no-shows hold a slot until claim_seconds are over", many(2, 0, "v") + many(2, 40_000, "w"), Options{NoShowShare: 1},
			[]string{"trigger_requests=2", "inflow_per_second=1", "session_seconds=30", "release_after_seconds=20", "max_active_users=1", "claim_seconds=15"},
			"0-80000 1 3 3 2", "20000 30000 30000"},
		{"years of quiet cost nothing", "0,a,x\n" + many(3, 5000, "v") + "253402300799999,z,x\n", Options{}, small, "5000-34951 2 2 2 2", "2000 4000 4000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := run(t, read(t, c.lines), c.o, c.sets...)
			it := r.Items["x"]
			if it == nil {
				it = &ItemReport{}
			}
			if got := text(it.Activations); got != c.want {
				t.Errorf("activations %q, want %q", got, c.want)
			}
			waits := ""
			if w := it.WaitMS; w != nil {
				waits = fmt.Sprint(w.P50, w.P95, w.Max)
			}
			if waits != c.waits {
				t.Errorf("waits %q, want %q", waits, c.waits)
			}
		})
	}
}

// crowd makes traffic of a time, half of it at a few of 2,000 items.
func crowd(seed uint64, events int, startMS, spanMS int64) *trace.Trace {
	r := rand.New(rand.NewPCG(seed, 1))
	tr := &trace.Trace{}
	for i := range 2000 {
		tr.Items = append(tr.Items, queue.Item(fmt.Sprintf("item-%04d", i)))
	}
	for i := range events / 4 {
		tr.Visitors = append(tr.Visitors, fmt.Sprintf("visitor-%08d", i))
	}
	ms := startMS
	for range events {
		ms += int64(r.ExpFloat64() * float64(spanMS) / float64(events))
		item := uint32(min(1999, int(r.ExpFloat64()*40)))
		tr.Events = append(tr.Events, trace.Event{MS: ms, Visitor: uint32(r.IntN(len(tr.Visitors))), Item: item})
	}
	return tr
}

// B158: the same bytes whatever the zone, the wall time and the year; only the instants differ between years.
func TestReplayHangsOnTheTraceAlone(t *testing.T) {
	sets := []string{"trigger_requests=25", "trigger_window_seconds=60", "inflow_per_second=0.3", "max_active_users=50"}
	o := Options{LeaveShare: 0.2, NoShowShare: 0.2}
	if os.Getenv("REPLAY_CHILD") != "" {
		if err := run(t, crowd(1, 50_000, 1_924_905_600_000, 3_600_000), o, sets...).WriteJSON(os.Stdout); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Parallel()
	var want bytes.Buffer
	r := run(t, crowd(1, 50_000, 1_924_905_600_000, 3_600_000), o, sets...) // 2031
	if len(r.Items) < 5 {
		t.Fatalf("%d items activated: too few to tell", len(r.Items))
	}
	r.WriteJSON(&want)
	for _, zone := range []string{"UTC", "Asia/Seoul", "America/St_Johns"} {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestReplayHangsOnTheTraceAlone$")
		child.Env = append(os.Environ(), "REPLAY_CHILD=1", "TZ="+zone)
		out, err := child.Output()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(out, want.Bytes()) {
			t.Errorf("TZ=%s gives another result", zone)
		}
	}
	const back = 378_691_200_000 // to 2019
	old := run(t, crowd(1, 50_000, 1_924_905_600_000-back, 3_600_000), o, sets...)
	for id, it := range old.Items {
		for i := range it.Activations {
			a := &it.Activations[i]
			a.ActivatedMS += back
			if a.ReleasedMS != nil {
				*a.ReleasedMS += back
			}
		}
		if r.Items[id] == nil || text(r.Items[id].Activations) != text(it.Activations) {
			t.Errorf("%s: in 2019 it is %s", id, text(it.Activations))
		}
	}
}

// Whatever the traffic: everybody who joined is let in in the end where nobody leaves, and no more at once than the
// inflow allows.
func TestEverybodyIsLetInInTheEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var b strings.Builder
		ms := int64(1_000_000)
		n := rapid.IntRange(1, 120).Draw(rt, "requests")
		for range n {
			ms += rapid.SampledFrom([]int64{0, 0, 1, 300, 1000, 9000, 40_000}).Draw(rt, "gap")
			fmt.Fprintf(&b, "%d,v%d,i%d\n", ms, rapid.IntRange(0, 30).Draw(rt, "visitor"), rapid.IntRange(0, 2).Draw(rt, "item"))
		}
		inflow := rapid.SampledFrom([]float64{0.1, 0.5, 1, 3, 50}).Draw(rt, "inflow")
		r := run(t, read(t, b.String()), Options{}, "session_seconds=30", "release_after_seconds=20",
			fmt.Sprint("trigger_requests=", rapid.IntRange(1, 9).Draw(rt, "trigger")), fmt.Sprint("inflow_per_second=", inflow),
			fmt.Sprint("max_active_users=", rapid.SampledFrom([]int{0, 0, 1, 5}).Draw(rt, "room")))
		for id, it := range r.Items {
			if it.Joined != it.Admitted {
				rt.Errorf("%s: %d joined, %d admitted", id, it.Joined, it.Admitted)
			}
			for _, a := range it.Activations {
				if a.ReleasedMS == nil {
					rt.Errorf("%s: never released", id)
					continue
				}
				if most := inflow*float64(*a.ReleasedMS-a.ActivatedMS)/1000 + max(1, inflow); float64(a.Admitted) > most {
					rt.Errorf("%s: %d admitted, at most %v are due", id, a.Admitted, most)
				}
			}
		}
	})
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file string
		sets       []string
		why        string
	}{
		{"a file and a field", "policies:\n  \"*\": {trigger_requests: 7}\n  a-*: {inflow_per_second: 0.5, order: random}\n", []string{"session_seconds=60"}, ""},
		{"an empty file", "", nil, ""},
		{"an unknown field", "", []string{"triger=1"}, "--set triger=1: triger is not a field that is known here"},
		{"a field out of range", "", []string{"trigger_requests=0"}, "trigger_requests must be a whole number from 1"},
		{"a field of another kind", "", []string{"trigger_requests=many"}, "trigger_requests"},
		{"no field", "", []string{"trigger_requests"}, "field=value"},
		{"an unknown field in the file", "policies: {\"*\": {triger: 1}}", nil, "triger is not a field"},
		{"a word for a number", "", []string{"trigger_requests=many"}, "trigger_requests must be a whole number."},
		{"a fraction for a whole number in the file", "policies: {\"*\": {trigger_requests: 1.5}}", nil, "trigger_requests must be a whole number."},
		{"a number for a list", "", []string{"return_origins=1"}, "return_origins must be a list."},
		{"no number at all", "policies: {\"*\": {inflow_per_second: .nan}}", nil, "a value is no number"},
		{"an unknown key in the file", "policy: {}", nil, "policy"},
		{"a bad pattern in the file", "policies: {\"a b\": {}}", nil, "a b"},
		{"a file that is no YAML", "policies: [", nil, "policies"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ps, err := Policies([]byte(c.file), c.sets)
			if c.why != "" {
				if err == nil || !strings.Contains(err.Error(), c.why) || strings.Contains(strings.TrimSpace(err.Error()), "json:") {
					t.Errorf("%v; want %q", err, c.why)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, p := ps.For("a-1"); c.file != "" && (p.InflowPerSecond != 0.5 || p.Order != queue.Random || p.SessionSeconds != 60 || p.TriggerRequests != 500) {
				t.Errorf("%+v", p)
			}
		})
	}
}

func TestReports(t *testing.T) {
	t.Parallel()
	tr := read(t, many(510, 1_800_000_000_000, "v")+"1800000000500,a,y\n")
	r := run(t, tr, Options{})
	var text, json bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteJSON(&json); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"511 events, 511 visitors, 2 items", "2027-01-15 08:00:00.000", "after 1m9.951s", "220ms"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	want := `{"totals":{"events":511,"skipped_lines":0,"visitors":511,"items":2},"items":{"x":{"peak_count":510,"peak_waiting":11,"joined":11,"admitted":11,` +
		`"wait_ms":{"p50":120,"p95":220,"max":220},"activations":[{"activated_ms":1800000000000,"released_ms":1800000069951,"grace":499,"joined":11,"admitted":11,"peak_waiting":11}]}}}`
	if got := strings.Join(strings.Fields(json.String()), ""); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func BenchmarkReplay(b *testing.B) {
	tr := crowd(2, 2_000_000, 1_800_000_000_000, 86_400_000)
	for name, sets := range map[string][]string{
		"defaults":   nil,
		"many lines": {"trigger_requests=40", "trigger_window_seconds=60", "inflow_per_second=0.7"},
		"with room":  {"trigger_requests=40", "trigger_window_seconds=60", "inflow_per_second=0.7", "max_active_users=200"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				run(b, tr, Options{}, sets...)
			}
			b.ReportMetric(float64(len(tr.Events))*float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
