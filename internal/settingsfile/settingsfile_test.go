package settingsfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/scheduler/sale"
)

// policy draws one that is valid.
func policy(t *rapid.T) queue.Policy {
	p := queue.DefaultPolicy()
	some := func(name string) bool { return rapid.Bool().Draw(t, "has "+name) }
	whole := func(name string, to *int64, lo, hi int64) {
		if some(name) {
			*to = rapid.Int64Range(lo, hi).Draw(t, name)
		}
	}
	if some("mode") {
		p.Mode = rapid.SampledFrom([]queue.Mode{queue.ModeOn, queue.ModeOff, queue.ModeAuto}).Draw(t, "mode")
	}
	whole("trigger", &p.TriggerRequests, 1, queue.MaxNumber)
	whole("window", &p.TriggerWindowSeconds, 1, 600)
	whole("session", &p.SessionSeconds, 30, 86400)
	whole("waiting", &p.MaxWaiting, 0, queue.MaxNumber)
	if some("inflow") {
		p.InflowPerSecond = rapid.Float64Range(0, queue.MaxNumber).Draw(t, "inflow")
	}
	if some("ratio") {
		p.ReleaseRatio = rapid.Float64Range(0, 1).Draw(t, "ratio")
	}
	if some("renewal") {
		p.SessionRenewal = false
	}
	if some("order") {
		p.Order, p.OnStoreFailure = queue.Random, queue.FailClosed
	}
	if some("origins") {
		p.ReturnOrigins = rapid.SliceOfN(rapid.SampledFrom([]queue.Origin{"https://shop.example", "http://localhost:3000", "https://[::1]:8443"}), 0, 3).Draw(t, "origins")
		if p.ReturnOrigins == nil {
			p.ReturnOrigins = []queue.Origin{}
		}
	}
	if some("page") {
		texts := rapid.MapOfN(rapid.SampledFrom([]string{"ko", "en", "de", "es", "fr", "ja", "zh"}), rapid.StringN(0, 200, 2000), 0, 5)
		p.WaitPage.Title, p.WaitPage.Message = texts.Draw(t, "titles"), texts.Draw(t, "messages")
		p.WaitPage.Theme = map[string]string{"accent": "#00AA77"}
		p.WaitPage.LogoURL = "https://cdn.example/a.svg?x=1#y"
		p.WaitPage.Status = 503
	}
	return p
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	t.Parallel()
	patterns := rapid.SampledFrom([]queue.Pattern{"*", "a-*", "null", "true", "1", "1.5", "~", "-", "on", "a:b", "@x", "2026-12-01", "concert-*"})
	rapid.Check(t, func(t *rapid.T) {
		f := File{Policies: map[queue.Pattern]queue.Policy{}}
		for range rapid.IntRange(0, 5).Draw(t, "policies") {
			f.Policies[patterns.Draw(t, "pattern")] = policy(t)
		}
		raw, err := Write(f)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse(raw)
		if err != nil {
			t.Fatalf("%v\n%s", err, raw)
		}
		if len(f.Policies) > 0 && !reflect.DeepEqual(back, f) {
			t.Fatalf("%+v\n%+v\n%s", f, back, raw)
		}
		again, err := Write(back)
		if err != nil || !bytes.Equal(again, raw) {
			t.Fatalf("%v\n%s\n%s", err, raw, again)
		}
	})
}

// drawForm draws a sale of which some are valid.
func drawForm(t *rapid.T) sale.Form {
	zone := rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "Asia/Seoul", "Australia/Lord_Howe", "Etc/GMT+9"}).Draw(t, "zone")
	// Around an hour that comes twice in Berlin, and one in Lord Howe.
	opens := rapid.SampledFrom([]int64{1792886400000, 1806764400000}).Draw(t, "day") + 1000*rapid.Int64Range(0, 8*3600).Draw(t, "second") + rapid.SampledFrom([]int64{0, 1, 500}).Draw(t, "ms")
	text := func(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339Nano) }
	f := sale.Form{Name: rapid.StringN(1, 50, 200).Draw(t, "name"), Item: "concert-*", OpensAt: text(opens), TimeZone: &zone}
	if rapid.Bool().Draw(t, "gathers") {
		at := text(opens - 1000*rapid.Int64Range(1, 7200).Draw(t, "before"))
		f.PrequeueAt = &at
	}
	if rapid.Bool().Draw(t, "closes") {
		at := text(opens + 1000*rapid.Int64Range(3600, 7200).Draw(t, "after"))
		f.ClosesAt = &at
	}
	if rapid.Bool().Draw(t, "repeats") {
		repeat := rapid.SampledFrom([]string{"0 11 * * 5", "*/30 * * * *", "30 2 * * *"}).Draw(t, "repeat")
		f.Repeat = &repeat
	}
	f.Overrides = rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(`{"order":"random","inflow_per_second":2.5e1,"return_origins":[]}`),
		json.RawMessage(`{"wait_page":{"title":{"ko":"곧\n\t열립니다","en":"<b>: #1"},"status":503},"return_origins":["https://a.example"],"session_renewal":false}`)}).Draw(t, "overrides")
	if rapid.Bool().Draw(t, "ramps") {
		f.Ramp = []sale.RampStep{{AfterSeconds: 0, InflowPerSecond: 0.0000001}, {AfterSeconds: 60, InflowPerSecond: 50}}
	}
	return f
}

func TestSalesThatAreWrittenAreReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := File{Sales: map[string]Sale{}}
		for range rapid.IntRange(0, 3).Draw(t, "sales") {
			id := rapid.SampledFrom([]string{"null", "1", "on", "black-friday", "2026-12-01"}).Draw(t, "id")
			if p, err := drawForm(t).Plan(id); err == nil {
				f.Sales[id] = Sale{Plan: p}
			}
		}
		raw, err := Write(f)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse(raw)
		if err != nil {
			t.Fatalf("%v\n%s", err, raw)
		}
		if len(back.Sales) != len(f.Sales) || back.Sales == nil {
			t.Fatalf("%d sales of %d\n%s", len(back.Sales), len(f.Sales), raw)
		}
		for id, s := range f.Sales {
			if got, want := back.Sales[id].Plan.Form(), s.Plan.Form(); !got.Same(want) {
				t.Fatalf("%+v\n%+v\n%s", got, want, raw)
			}
		}
		if again, err := Write(back); err != nil || !bytes.Equal(again, raw) {
			t.Fatalf("%v\n%s\n%s", err, raw, again)
		}
	})
}

func TestWhatAFileSays(t *testing.T) {
	t.Parallel()
	const good = "sales:\n  bf:\n    name: Friday\n    item: sku-1\n    opens_at: \"2026-11-27T11:00:00\"\n    time_zone: Asia/Seoul\n"
	for _, tc := range []struct{ name, file, says string }{
		{"nothing", "", "nothing in it"},
		{"a comment", "# later\n", "nothing in it"},
		{"no policies", "policies: {}\n", ""},
		{"defaults alone", "policies:\n  x:\n", ""},
		{"a field", "policies:\n  concert-*:\n    inflow_per_second: 0.5\n", ""},
		{"an unknown part", "policies: {}\nusers: []\n", `line 2: "users" is not known`},
		{"an unknown field", "policies:\n  x:\n    mode: on\n    triger: 1\n", "line 4"},
		{"an unknown field inside", "policies:\n  x:\n    wait_page:\n      titel: {}\n", "line 3"},
		{"a field that stands twice", "policies:\n  x:\n    mode: on\n    mode: off\n", "line 4"},
		{"a pattern that stands twice", "policies:\n  x: {}\n  x: {}\n", "line 3"},
		{"a field out of range", "policies:\n  x:\n    mode: on\n\n    session_seconds: 1\n", `line 5: policy "x": session_seconds must be a whole number from 30 to 86400.`},
		{"a word that is none", "policies:\n  x: {mode: maybe}\n", "mode must be auto, on or off"},
		{"a text for a number", "policies:\n  x:\n    session_seconds: long\n", "line 3: policy \"x\": session_seconds has the wrong type"},
		{"a field without a value", "policies:\n  x:\n    mode:\n", "line 3"},
		{"a bad pattern", "policies:\n  a b: {}\n", "line 2"},
		{"a list", "- a\n", "line 1: the file must be a mapping"},
		{"policies as a list", "policies:\n  - a\n", "line 2: policies must be a mapping"},
		{"no YAML", "policies: {\n", "line"},
		{"two documents", "policies: {}\n---\npolicies: {}\n", "one document"},
		{"a field in other letters", "policies:\n  x: {Mode: on}\n", "line 2: policy \"x\": Mode is not known"},
		{"no sales", "sales: {}\n", ""},
		{"a sale", good, ""},
		{"a time without quotes", strings.ReplaceAll(good, `"`, ""), ""},
		{"a zone that is none", strings.Replace(good, "Asia/Seoul", "Mars/Olympus", 1), `line 6: sale "bf": time_zone must be an IANA name`}, // B061
		{"no opening", strings.Replace(good, "    opens_at: \"2026-11-27T11:00:00\"\n", "", 1), `line 2: sale "bf": opens_at must be`},
		{"a time that comes twice", strings.NewReplacer("Asia/Seoul", "Europe/Berlin", "2026-11-27T11:00:00", "2026-10-25T02:30:00").Replace(good), `line 5: sale "bf": opens_at: 2026-10-25T02:30:00 exists twice`},
		{"an unknown field of a sale", good + "    ends_at: x\n", `line 7: sale "bf": ends_at is not known`},
		{"an override out of range", good + "    overrides:\n      inflow_per_second: -1\n", `line 8: sale "bf": overrides: inflow_per_second must be`},
		{"an unknown override", good + "    overrides: {name: x}\n", `line 7: sale "bf": overrides: name is not known`},
		{"an override that no sale has", good + "    overrides:\n      mode: \"off\"\n", `line 8: sale "bf": overrides.mode must be auto or on`},
		{"a step of the ramp that is none", good + "    ramp:\n      - {after_seconds: 5, inflow_per_second: 1}\n      - {after_seconds: 5, inflow_per_second: 1}\n",
			`line 9: sale "bf": ramp[1].after_seconds must be more`},
		{"an unknown field of a step", good + "    ramp: [{after: 5}]\n", `line 7: sale "bf": ramp has a field that is not known`},
		{"a repeat that is none", good + "    repeat: often\n", `line 7: sale "bf": repeat must be`},
		{"an id that is none", "sales:\n  Black Friday: {}\n", `line 2: sale "Black Friday": The id of a sale is`},
		{"a sale that stands twice", good + "  bf: {}\n", "line 7"},
		{"sales as a list", "sales:\n  - a\n", "line 2: sales must be a mapping"},
		{"fields of other versions", "policies:\n  x: {invite_only: true}\n", "line 2"},
	} {
		_, err := Parse([]byte(tc.file))
		var of *Error
		switch {
		case tc.says == "" && err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case tc.says != "" && (!errors.As(err, &of) || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%s: %v, want %s", tc.name, err, tc.says)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("sales:\n  a:\n    name: x\n    item: y\n    opens_at: 2026-11-27T11:00:00Z\n    ramp: [{after_seconds: 1}]\n"))
	f.Add([]byte("policies:\n  \"*\": {trigger_requests: 100}\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if got, err := Parse(raw); err == nil {
			if _, err := Write(got); err != nil {
				t.Error(err)
			}
		}
	})
}
