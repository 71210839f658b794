package settingsfile

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/queue"
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

func TestWhatAFileSays(t *testing.T) {
	t.Parallel()
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
	f.Add([]byte("policies:\n  \"*\": {trigger_requests: 100}\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if got, err := Parse(raw); err == nil {
			if _, err := Write(got); err != nil {
				t.Error(err)
			}
		}
	})
}
