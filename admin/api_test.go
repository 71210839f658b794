package admin

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
)

// The document is valid, and says of each route, its role included, what the table says.
func TestDocument(t *testing.T) {
	t.Parallel()
	doc := apiDoc()
	if err := doc.Validate(t.Context(), openapi3.IsOpenAPI31OrLater()); err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, nil)
	documented := 0
	for _, item := range doc.Paths.Map() {
		documented += len(item.Operations())
	}
	if documented != len(f.table()) {
		t.Errorf("the document has %d operations, the table %d routes", documented, len(f.table()))
	}
	for _, r := range f.table() {
		item := doc.Paths.Value(template(base + r.path))
		if item == nil || item.GetOperation(r.method) == nil {
			t.Errorf("%s %s is not in the document", r.method, r.path)
			continue
		}
		if role := item.GetOperation(r.method).Extensions["x-role"]; role != string(r.least) {
			t.Errorf("%s %s: the document says %v, the table %s", r.method, r.path, role, r.least)
		}
	}
	w := httptest.NewRecorder()
	f.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/admin/api/openapi.json", nil))
	if w.Code != 200 || !strings.HasPrefix(w.Body.String(), "{") || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("served %d %.80s", w.Code, w.Body)
	}
}

// The policy's fields in the document are those of the domain, with the same defaults.
func TestDocumentedDefaults(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	got := f.do("GET", base+"/policies/*", "")
	schema := apiDoc().Components.Schemas["PolicyFields"].Value
	for name, p := range schema.Properties {
		if p.Value.Default == nil {
			continue
		}
		if list, ok := p.Value.Default.([]any); ok && len(list) == 0 {
			continue
		}
		if got.JSON[name] != p.Value.Default {
			t.Errorf("%s: the document says %v, the program %v", name, p.Value.Default, got.JSON[name])
		}
	}
	for name := range got.JSON {
		if schema.Properties[name] == nil {
			t.Errorf("%s is not in the document", name)
		}
	}
}

// template turns a router's path into the document's.
func template(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if strings.HasPrefix(p, ":") {
			parts[i] = "{" + p[1:] + "}"
		}
	}
	return strings.Join(parts, "/")
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	for _, path := range []string{base + "/items", base + "/items/%", base + "/nothing", "/", "/admin/api/openapi.json"} {
		if strings.Contains(path, "%") {
			continue // not even a URL
		}
		got := f.do("GET", path, "", "Origin", "https://evil.example", "X-Request-Id", "mine-1")
		h := got.Header
		if h.Get("Cache-Control") != "no-store" || h.Get("X-Request-Id") != "mine-1" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", path, h)
		}
		for name := range h {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: %s", path, name)
			}
		}
	}
	f.do("GET", base+"/items", "", "X-Long", strings.Repeat("x", problem.MaxHeaders))
	if strings.Contains(f.log.String(), root) {
		t.Error("a token is in the log")
	}
}

func TestTokensAPI(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	made := f.do("POST", base+"/tokens", `{"name":"deploy","role":"operator","expires_at":"2026-12-01T12:00:00Z"}`).want(t, 201, "")
	token, id := made.JSON["token"].(string), made.JSON["id"].(string)
	if len(token) < 30 || made.JSON["expires_at"] != "2026-12-01T12:00:00.000Z" {
		t.Errorf("made %s", made.Body)
	}
	f.as(token, "POST", base+"/items/x/activate", "").want(t, 200, "")
	if err := f.Refresh(t.Context()); err != nil { // writes the last use
		t.Fatal(err)
	}
	list := f.do("GET", base+"/tokens", "").want(t, 200, "")
	if strings.Contains(list.Body, token) || !strings.Contains(list.Body, `"last_used_at":"2026-12-01T11:00:00.000Z"`) {
		t.Errorf("listed %s", list.Body)
	}
	if audit := f.do("GET", base+"/audit", ""); strings.Contains(audit.Body, token) || !strings.Contains(audit.Body, "token.add") {
		t.Errorf("audit %s", audit.Body)
	}
	if strings.Contains(f.log.String(), token) {
		t.Error("the token is in the log")
	}
	f.hand.Add(time.Hour)
	f.as(token, "GET", base+"/items", "").want(t, 401, "unauthorized") // expired
	f.hand.Add(-time.Hour)
	f.as(token, "GET", base+"/items", "").want(t, 200, "")
	f.do("DELETE", base+"/tokens/"+id, "").want(t, 204, "")
	f.as(token, "GET", base+"/items", "").want(t, 401, "unauthorized")
	f.do("DELETE", base+"/tokens/"+id, "").want(t, 404, "not_found")

	service := f.token(sqlstore.Service)
	if name, ok := f.o.Settings.Now().ServiceToken(service); !ok || name != "the service" {
		t.Error("a service token is not in the settings")
	}
	for _, body := range []string{`{}`, `{"name":"x"}`, `{"name":"","role":"viewer"}`, `{"name":"x","role":"root"}`, `{"name":"x","role":"viewer","expires_at":"soon"}`,
		`{"name":"x","role":"viewer","expires_at":"2020-01-01T00:00:00Z"}`, `{"name":"x","role":"viewer","admin":true}`} {
		f.do("POST", base+"/tokens", body).want(t, 400, "invalid_body")
	}
}

func TestSwitchOverAll(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.do("POST", base+"/items/x/activate", "").want(t, 200, "")
	f.join("x", 3)
	got := f.do("PUT", base+"/switch", `{"all":"pass"}`).want(t, 409, "confirm_needed")
	if got.at("effect", "queues") != 1.0 || got.at("effect", "waiting") != 3.0 {
		t.Errorf("asked %s", got.Body)
	}
	f.do("PUT", base+"/switch", `{"all":"pass","confirm":"hold"}`).want(t, 409, "confirm_needed")
	f.do("PUT", base+"/switch", `{"all":"up","confirm":"up"}`).want(t, 400, "invalid_body")
	f.do("PUT", base+"/switch", `{}`).want(t, 400, "invalid_body")
	f.do("PUT", base+"/switch", `{"all":"pass","confirm":"pass","reason":"origin is fine"}`).want(t, 200, "")
	f.do("PUT", base+"/switch", `{"all":"pass"}`).want(t, 200, "") // there already
	if got := f.do("GET", base+"/switch", ""); got.JSON["all"] != "pass" || f.o.Settings.Now().Switch() != "pass" {
		t.Errorf("switched to %s", got.Body)
	}
	if audit := f.do("GET", base+"/audit", ""); strings.Count(audit.Body, `"action":"switch"`) != 1 || !strings.Contains(audit.Body, "origin is fine") {
		t.Errorf("audit %s", audit.Body)
	}
}

func TestItems(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	if got := f.do("GET", base+"/items/never-heard-of", "").want(t, 200, ""); got.JSON["state"] != "off" || got.JSON["generation"] != 0.0 || got.JSON["waiting"] != 0.0 || got.JSON["since"] != nil {
		t.Errorf("an item never heard of: %s", got.Body)
	}
	for _, item := range []string{"b", "a", "c"} {
		f.do("POST", base+"/items/"+item+"/activate", "").want(t, 200, "")
	}
	f.do("POST", base+"/items/b/pause", "").want(t, 200, "")
	f.join("a", 2)
	names := func(query string) (out string) {
		for _, i := range f.do("GET", base+"/items?"+query, "").want(t, 200, "").JSON["items"].([]any) {
			out += i.(map[string]any)["item"].(string)
		}
		return out
	}
	for query, want := range map[string]string{"": "abc", "state=open": "ac", "state=paused": "b", "state=off": "", "q=b": "b", "cursor=a": "bc"} {
		if got := names(query); got != want {
			t.Errorf("?%s lists %s, want %s", query, got, want)
		}
	}
	f.do("GET", base+"/items?state=shut", "").want(t, 400, "invalid_parameter")
	got := f.do("GET", base+"/items/a", "")
	if got.JSON["waiting"] != 2.0 || got.JSON["by"] != "bootstrap" || got.JSON["cause"] != "operator" || got.JSON["since"] != "2026-12-01T11:00:00.000Z" ||
		got.at("inflow", "measured_per_second") != nil || got.at("policy", "pattern") != "*" || got.at("books", "joined") != 2.0 {
		t.Errorf("live: %s", got.Body)
	}
	limits := f.o.Settings.Now().LimitsAt("a", 1)
	for range 5 { // two people in 4 s, from the first step on
		if _, err := f.line.Step(t.Context(), "a", queue.StepOrder{Limits: limits}); err != nil {
			t.Fatal(err)
		}
		f.hand.Add(time.Second)
	}
	if got := f.do("GET", base+"/items/a", ""); got.at("inflow", "measured_per_second") != 0.4 {
		t.Errorf("let in per second: %s", got.Body)
	}
}

func TestVisitors(t *testing.T) {
	t.Parallel()
	onBothLines(t, func(t *testing.T, with func(*Options)) {
		f := newFixture(t, func(o *Options) {
			if with != nil {
				with(o)
			}
			o.UserVisitor = func(user string) queue.Visitor { return queue.Visitor("visitor-" + user) }
		})
		f.do("POST", base+"/items/x/activate", "").want(t, 200, "")
		f.join("x", 3)
		url := base + "/items/x/visitors"
		got := f.do("GET", url+"/visitor-00000001", "").want(t, 200, "")
		if got.JSON["set"] != "waiting" || got.JSON["position"] != 2.0 || got.JSON["joined_at"] == nil {
			t.Errorf("second in line: %s", got.Body)
		}
		if got := f.do("GET", url+"?user=00000002", "").want(t, 200, ""); got.JSON["position"] != 3.0 {
			t.Errorf("by user: %s", got.Body)
		}
		if got := f.do("GET", url+"?ref=visitor-00000000", "").want(t, 200, ""); got.JSON["position"] != 1.0 {
			t.Errorf("by whole reference: %s", got.Body)
		}
		f.do("GET", url+"?ref=visito", "").want(t, 400, "not_available")
		f.do("GET", url, "").want(t, 400, "invalid_parameter")
		f.do("GET", url+"?ref=a&user=b", "").want(t, 400, "invalid_parameter")
		if got := f.do("GET", url+"/nobody-nobody-nob", "").want(t, 200, ""); got.JSON["set"] != nil {
			t.Errorf("nobody: %s", got.Body)
		}
		for range 2 { // also when there is nothing left to revoke
			f.do("DELETE", url+"/visitor-00000001", "").want(t, 204, "")
		}
		if got := f.do("GET", url+"?user=00000002", ""); got.JSON["position"] != 2.0 {
			t.Errorf("after the revocation: %s", got.Body)
		}
		if audit := f.do("GET", base+"/audit", ""); !strings.Contains(audit.Body, "visitor.revoke") || strings.Contains(audit.Body, "visitor-00000001") {
			t.Errorf("audit: %s", audit.Body)
		}
	})
}
