package admin

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
)

const policies = base + "/policies/"

func TestPolicies(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	star := f.do("GET", policies+"*", "").want(t, 200, "")
	if star.JSON["trigger_requests"] != 500.0 || star.JSON["pattern"] != "*" || star.Header.Get("ETag") == "" {
		t.Errorf("the policy that always exists: %s", star.Body)
	}
	f.do("GET", policies+"concert-*", "").want(t, 404, "not_found")
	made := f.do("PUT", policies+"concert-*", `{"inflow_per_second":7,"max_waiting":100}`).want(t, 201, "")
	if made.JSON["inflow_per_second"] != 7.0 || made.JSON["claim_seconds"] != 120.0 {
		t.Errorf("made %s", made.Body)
	}
	if _, p := f.o.Settings.Now().For("concert-9"); p.InflowPerSecond != 7 {
		t.Errorf("in force: %+v", p)
	}
	if again := f.do("PUT", policies+"concert-*", made.Body).want(t, 200, ""); again.Header.Get("ETag") != made.Header.Get("ETag") {
		t.Errorf("what GET answers can be put: %s", again.Body)
	}
	if got := f.do("PUT", policies+"concert-*", `{"inflow_per_second":8}`).want(t, 200, ""); got.JSON["max_waiting"] != 0.0 {
		t.Errorf("PUT is the whole policy: %s", got.Body)
	}
	// A patch of a pattern that is not there starts from what is in force for it.
	if got := f.do("PATCH", policies+"concert-9", `{"max_waiting":5}`).want(t, 201, ""); got.JSON["inflow_per_second"] != 8.0 || got.JSON["max_waiting"] != 5.0 {
		t.Errorf("patched anew: %s", got.Body)
	}
	if got := f.do("PATCH", policies+"concert-9*", `{}`).want(t, 201, ""); got.JSON["inflow_per_second"] != 8.0 {
		t.Errorf("a glob inside a glob: %s", got.Body)
	}
	list := f.do("GET", base+"/policies", "").want(t, 200, "")
	var order []string
	for _, p := range list.JSON["policies"].([]any) {
		order = append(order, p.(map[string]any)["pattern"].(string))
	}
	if got := strings.Join(order, " "); got != "concert-9 concert-9* concert-* *" {
		t.Errorf("listed %s", got)
	}
	f.do("DELETE", policies+"concert-9", "").want(t, 204, "")
	f.do("DELETE", policies+"concert-9", "").want(t, 404, "not_found")

	f.do("PATCH", policies+"*", `{"trigger_requests":9}`).want(t, 200, "")
	f.do("DELETE", policies+"*", "").want(t, 204, "")
	if got := f.do("GET", policies+"*", "").want(t, 200, ""); got.Body != star.Body {
		t.Errorf("* is back to the defaults: %s", got.Body)
	}
}

// B166, as far as it is about merging.
func TestMergePatch(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.do("PUT", policies+"x", `{"trigger_requests":9,"wait_page":{"status":503,"message":{"ko":"기다려 주세요","en":"Please wait"}}}`).want(t, 201, "")
	for _, tc := range []struct {
		name, patch string
		path        []string
		want        any
	}{
		{"null is the default", `{"trigger_requests":null}`, []string{"trigger_requests"}, 500.0},
		{"a list comes", `{"return_origins":["https://a.example","https://b.example"]}`, []string{"return_origins"}, []any{"https://a.example", "https://b.example"}},
		{"a list is replaced as a whole", `{"return_origins":["https://c.example"]}`, []string{"return_origins"}, []any{"https://c.example"}},
		{"an origin takes its one form", `{"return_origins":["HTTPS://C.example:443"]}`, []string{"return_origins"}, []any{"https://c.example"}},
		{"a list goes", `{"return_origins":null}`, []string{"return_origins"}, []any{}},
		{"one language goes, the other stays", `{"wait_page":{"message":{"ko":null}}}`, []string{"wait_page", "message"}, map[string]any{"en": "Please wait"}},
		{"a field beside it stays", `{"wait_page":{"title":{"en":"Hello"}}}`, []string{"wait_page", "status"}, 503.0},
		{"null of what is not there changes nothing", `{"wait_page":{"message":{"fr":null}}}`, []string{"wait_page", "message"}, map[string]any{"en": "Please wait"}},
		{"a whole part goes", `{"wait_page":null}`, []string{"wait_page", "status"}, 200.0},
	} {
		got := f.do("PATCH", policies+"x", tc.patch, "Content-Type", "application/merge-patch+json").want(t, 200, "")
		if a, b := fmt.Sprint(got.at(tc.path...)), fmt.Sprint(tc.want); a != b {
			t.Errorf("%s: %s is %s, want %s", tc.name, tc.path, a, b)
		}
	}
	audit := f.do("GET", base+"/audit", "")
	if !strings.Contains(audit.Body, `"before":{"mode":"auto","trigger_requests":9`) || !strings.Contains(audit.Body, `"after":{"mode":"auto","trigger_requests":500`) {
		t.Errorf("the audit does not name the default that null brought back: %s", audit.Body)
	}
	before := f.do("GET", policies+"x", "")
	version := f.o.Settings.Now().Version()
	for _, patch := range []string{`{}`, `{"trigger_requests":500}`, `{"trigger_requests":null}`} {
		got := f.do("PATCH", policies+"x", patch).want(t, 200, "")
		if got.Header.Get("ETag") != before.Header.Get("ETag") || got.Body != before.Body || f.o.Settings.Now().Version() != version {
			t.Errorf("%s has changed something: %s", patch, got.Body)
		}
	}
	for _, body := range []string{`[]`, `null`, `"x"`, `1`, ``, `{`, `{}{}`} {
		f.do("PATCH", policies+"x", body).want(t, 400, "invalid_body")
		f.do("PUT", policies+"x", body).want(t, 400, "invalid_body")
	}
	f.do("PATCH", policies+"x", `{"return_origins":["https://a.example",null]}`).want(t, 400, "invalid_body")
}

// B142, B019, B131: what numbers may be.
func TestPolicyFields(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	for _, tc := range []struct{ field, value, code string }{ // code "" = accepted
		{"inflow_per_second", "0", ""}, {"inflow_per_second", "-0.0", ""}, {"inflow_per_second", "1e-9", ""}, {"inflow_per_second", "0.00001", ""},
		{"inflow_per_second", "0.1", ""}, {"inflow_per_second", "1e6", ""}, {"inflow_per_second", "33.333333333333336", ""}, {"inflow_per_second", "1000000000", ""},
		{"inflow_per_second", "NaN", "invalid_body"}, {"inflow_per_second", `"Infinity"`, "invalid_body"}, {"inflow_per_second", "1e309", "invalid_body"},
		{"inflow_per_second", `"50"`, "invalid_body"}, {"inflow_per_second", "-1", "invalid_policy"}, {"inflow_per_second", "1000000001", "invalid_policy"},
		{"inflow_per_second", "true", "invalid_body"}, {"inflow_per_second", "{}", "invalid_body"},
		{"trigger_requests", "0", "invalid_policy"}, {"trigger_requests", "1.5", "invalid_body"}, {"trigger_requests", "1000000001", "invalid_policy"},
		{"trigger_window_seconds", "1", ""}, {"trigger_window_seconds", "600", ""}, {"trigger_window_seconds", "601", "invalid_policy"},
		{"release_ratio", "1.1", "invalid_policy"}, {"session_seconds", "29", "invalid_policy"}, {"claim_seconds", "9", "invalid_policy"},
		{"abandon_seconds", "29", "invalid_policy"}, {"return_seconds", "86401", "invalid_policy"}, {"max_waiting", "-1", "invalid_policy"},
		{"mode", `"sometimes"`, "invalid_policy"}, {"mode", `"ON"`, "invalid_policy"}, {"order", `"lifo"`, "invalid_policy"}, {"on_store_failure", `"maybe"`, "invalid_policy"},
		{"session_renewal", `"yes"`, "invalid_body"}, {"return_origins", `["https://a.example/path"]`, "invalid_policy"}, {"allowed_origins", `["*"]`, "invalid_policy"},
		{"poll_budget_per_second", "-1", "invalid_policy"}, {"wait_page", `{"status":500}`, "invalid_policy"}, {"wait_page", `{"colour":"red"}`, "invalid_body"},
		{"wait_page", `{"theme":{"bg":"url(x)"}}`, "invalid_policy"}, {"wait_page", `{"logo_url":"javascript:alert(1)"}`, "invalid_policy"},
		{"inflow_per_secnod", "1", "invalid_body"}, {"Inflow_per_second", "1", "invalid_body"},
		{"invite_only", "true", "not_available"}, {"invite_only", "false", "not_available"}, {"invite_only", "null", "not_available"},
		{"new_places_per_address_per_minute", "5", "not_available"},
	} {
		body := fmt.Sprintf(`{%q:%s}`, tc.field, tc.value)
		for _, method := range []string{"PATCH", "PUT"} {
			got := f.do(method, policies+"x", body)
			if tc.code == "" {
				if got.Code != 200 && got.Code != 201 {
					t.Errorf("%s %s: %d %s", method, body, got.Code, got.Body)
				}
				var want float64
				json.Unmarshal([]byte(tc.value), &want)
				if got.JSON[tc.field] != want || strings.Contains(got.Body, ":-0,") {
					t.Errorf("%s %s gave %s", method, body, got.Body)
				}
				continue
			}
			before := f.o.Settings.Now().Version()
			if got.want(t, 400, tc.code); !strings.Contains(got.Body, tc.field) {
				t.Errorf("%s %s does not name the field: %s", method, body, got.Body)
			}
			if f.o.Settings.Now().Version() != before {
				t.Errorf("%s %s has changed something", method, body)
			}
		}
	}
	// B131: odd together, but each of them has a meaning.
	for _, body := range []string{`{"claim_seconds":3600,"session_seconds":30}`, `{"abandon_seconds":86400,"return_seconds":0}`, `{"trigger_window_seconds":600,"release_after_seconds":0}`} {
		f.do("PATCH", policies+"x", body).want(t, 200, "")
	}
	f.do("PUT", policies+"x", `{"trigger_requests":null}`).want(t, 400, "invalid_body") // null means something in a patch alone
	f.do("PUT", policies+"x", `{"trigger_requests":1,"trigger_requests":2}`).want(t, 400, "invalid_body")
	f.do("PUT", policies+"x", `{"pattern":"y"}`).want(t, 400, "invalid_body")
	f.do("PUT", policies+"x", `{"wait_page":{"message":{"en":"`+strings.Repeat("x", 1900)+`"}}}`).want(t, 200, "")
	if got := f.do("PUT", policies+"x", `{"order":"`+strings.Repeat("x", 70_000)+`"}`); got.Code != 413 || got.JSON["code"] != "body_too_large" {
		t.Errorf("a huge body: %d", got.Code)
	}
}

// B166: lost updates.
func TestIfMatch(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	tag := f.do("PUT", policies+"x", `{}`).Header.Get("ETag")
	for _, tc := range []struct {
		name, ifMatch string
		status        int
	}{
		{"any that exists", `*`, 200},
		{"its own", tag, 200},
		{"its own in a list", `"other", ` + tag, 200},
		{"another", `"other"`, 412},
		{"a list without its own", `"a", "b"`, 412},
		{"its own, weak: the comparison is strong", `W/` + tag, 412},
		{"its own after a weak one", `W/"other", ` + tag, 200},
		{"its own after one with a comma in it", `"a, b", ` + tag, 200},
		{"its own in a list with empty places", `, ,` + tag + `,`, 200},
		{"its own inside another", `"a,` + tag + `"`, 412},
		{"its own without quotes", strings.Trim(tag, `"`), 412},
		{"any, in a list", `"a", *`, 412},
		{"its own cut off", tag[:len(tag)-1], 412},
		{"nonsense", `x`, 412},
		{"nothing in it", ``, 412},
	} {
		f.do("PATCH", policies+"x", `{}`, "If-Match", tc.ifMatch).want(t, tc.status, "")
	}
	f.do("PATCH", policies+"nowhere", `{}`, "If-Match", "*").want(t, 412, "stale_etag")
	f.do("DELETE", policies+"x", ``, "If-Match", `"other"`).want(t, 412, "stale_etag")
	f.do("PATCH", policies+"x", `{"max_waiting":1}`).want(t, 200, "") // without If-Match every write goes through

	// Two who have read the same, at once, again and again: one write of each pair stands.
	for range 20 {
		tag := f.do("GET", policies+"x", "").Header.Get("ETag")
		var wg sync.WaitGroup
		var won, lost atomic.Int64
		for i := range 2 {
			wg.Go(func() {
				_, policy := f.o.Settings.Now().For("x")
				got := f.do("PATCH", policies+"x", fmt.Sprintf(`{"max_waiting":%d}`, policy.MaxWaiting+int64(i)+1), "If-Match", tag)
				switch got.Code {
				case 200:
					won.Add(1)
				case 412:
					lost.Add(1)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 || lost.Load() != 1 {
			t.Fatalf("%d won and %d lost", won.Load(), lost.Load())
		}
	}
}

// B067: an encoded slash never reaches another route, and * is the same however it is written.
func TestPathsAreNotConfused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.do("PUT", policies+"%2A", `{"max_waiting":7}`).want(t, 200, "")
	for _, tc := range []struct {
		method, path string
		status       int
		code         string
	}{
		{"GET", policies + "*", 200, ""},
		{"GET", policies + "%2A", 200, ""},
		{"GET", policies + "a%2Fb", 400, "invalid_pattern"},
		{"PUT", policies + "a%2Fb", 400, "invalid_pattern"},
		{"GET", policies + "a%20b", 400, "invalid_pattern"},
		{"GET", policies + "a+b", 400, "invalid_pattern"},
		{"GET", policies + "%252A", 400, "invalid_pattern"},
		{"GET", base + "/items/sku%3A1", 200, ""},
		{"GET", base + "/items/sku:1", 200, ""},
		{"GET", base + "/items/x%2Fvisitors", 400, "invalid_item"},
		{"POST", base + "/items/x%2Factivate", 405, "method_not_allowed"},
		{"DELETE", base + "/items/x%2Fvisitors%2Fabcdefghijklmnop", 405, "method_not_allowed"},
		{"GET", base + "/items/x%2Fvisitors%2Fabcdefghijklmnop", 400, "invalid_item"},
		{"GET", base + "/items/" + strings.Repeat("x", 129), 400, "invalid_item"},
		{"GET", base + "/items/x/", 404, "not_found"},
		{"GET", base + "/nothing", 404, "not_found"},
		{"GET", base + "//items/x", 404, "not_found"},
		{"GET", base + "/items/x/visitors/short", 400, "invalid_visitor"},
	} {
		body := ""
		if tc.method == "PUT" {
			body = "{}"
		}
		got := f.do(tc.method, tc.path, body).want(t, tc.status, tc.code)
		if strings.HasSuffix(tc.path, "*") && got.JSON["max_waiting"] != 7.0 {
			t.Errorf("%s: %s", tc.path, got.Body)
		}
	}
}

func TestMarketerMayChangeTheWaitPageAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	marketer := f.token(sqlstore.Marketer)
	f.as(marketer, "PATCH", policies+"*", `{"wait_page":{"title":{"en":"Soon"}}}`).want(t, 200, "")
	f.as(marketer, "PATCH", policies+"*", `{"wait_page":{"title":{"en":"Soon"}},"inflow_per_second":1}`).want(t, 403, "forbidden")
	f.as(marketer, "PATCH", policies+"*", `{"inflow_per_second":1}`).want(t, 403, "forbidden")
	f.as(marketer, "PATCH", policies+"new", `{"wait_page":{"title":{"en":"Soon"}}}`).want(t, 403, "forbidden")
	f.as(marketer, "PUT", policies+"*", `{"wait_page":{"title":{"en":"Soon"}}}`).want(t, 403, "forbidden")
	if _, p := f.o.Settings.Now().For("x"); p.WaitPage.Title["en"] != "Soon" || p.InflowPerSecond != 50 {
		t.Errorf("in force: %+v", p)
	}
}

// FuzzPolicy: a policy that is taken is within its ranges, and read back as the same from what it is answered as.
func FuzzPolicy(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"mode":"on","inflow_per_second":1e309}`, `{"inflow_per_second":-0.0}`, `{"trigger_requests":500,"Trigger_requests":1}`, `{"wait_page":{"title":{"en":"x"}}}`,
		`{"return_origins":["https://a.example","javascript:"]}`, `{"pattern":"sku-*"}`, `[]`, `{"session_seconds":null}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		p, err := readPolicy(in, "sku-1")
		if err != nil {
			return
		}
		if err := p.Validate(); err != nil {
			t.Fatalf("%s is taken, and is not valid: %v", in, err)
		}
		out, err := json.Marshal(policyView{"sku-1", p})
		if err != nil {
			t.Fatalf("%s cannot be written: %v", in, err)
		}
		if again, err := readPolicy(out, "sku-1"); err != nil || !reflect.DeepEqual(again, p) {
			t.Fatalf("%s becomes %s, and then %+v, %v", in, out, again, err)
		}
	})
}

func FuzzMerge(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":null}`, `{"wait_page":{"title":{"en":null}}}`, `[]`, `null`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, patch []byte) {
		merged, err := mergePatch(queue.DefaultPolicy(), patch)
		if err != nil || !json.Valid(patch) {
			return
		}
		if !json.Valid(merged) {
			t.Fatalf("merging %s gives %s", patch, merged)
		}
		again, err := merge(merged, patch)
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if json.Unmarshal(merged, &a) != nil || json.Unmarshal(again, &b) != nil || fmt.Sprint(a) != fmt.Sprint(b) {
			t.Fatalf("merging %s twice gives %s, then %s", patch, merged, again)
		}
	})
}
