package admin

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/sluicehq/sluice/internal/sqlstore"
)

// hookReceiver keeps the requests that it gets.
type hookReceiver struct {
	*httptest.Server
	mu     sync.Mutex
	heads  []http.Header
	bodies []string
	status int
}

func newHookReceiver(t *testing.T) *hookReceiver {
	r := &hookReceiver{status: 204}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.heads, r.bodies = append(r.heads, req.Header), append(r.bodies, string(body))
		w.WriteHeader(r.status)
		if r.status != 204 {
			io.WriteString(w, "what is nobody's business")
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *hookReceiver) got() (heads []http.Header, bodies []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.heads, r.bodies
}

func (r *hookReceiver) answer(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// withWebhooks allows webhooks to lead to receivers of the tests, and sends them.
func withWebhooks(t *testing.T) *fixture {
	f := newFixture(t, func(o *Options) { o.WebhookNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	f.follow()
	done := make(chan struct{})
	go func() { defer close(done); f.Deliver(t.Context()) }()
	t.Cleanup(func() { <-done })
	return f
}

func TestWebhooks(t *testing.T) {
	t.Parallel()
	f := withWebhooks(t)
	to := newHookReceiver(t)
	made := f.do("POST", base+"/webhooks", fmt.Sprintf(`{"url":%q,"types":["queue.released","queue.activated","policy.changed"],"note":"<b>ops</b>"}`, to.URL)).want(t, 201, "")
	id, secret := made.at("id").(string), made.at("secret").(string)
	if !strings.HasPrefix(secret, "whsec_") || made.at("disabled_at") != nil {
		t.Fatalf("made %s", made.Body)
	}
	if list := f.do("GET", base+"/webhooks", "").want(t, 200, ""); strings.Contains(list.Body, secret) || !strings.Contains(list.Body, id) {
		t.Errorf("the list: %s", list.Body)
	}
	f.do("POST", base+"/items/x/activate", "").want(t, 200, "")
	f.join("x", 3)
	f.do("POST", base+"/items/x/pause", "").want(t, 200, "") // of this it does not want to hear
	f.do("PATCH", base+"/policies/x", `{"max_waiting":1}`).want(t, 201, "")
	f.do("POST", base+"/items/x/deactivate", `{"confirm":"x"}`).want(t, 200, "")
	eventually(t, "three messages", func() bool { _, bodies := to.got(); return len(bodies) == 3 })
	heads, bodies := to.got()
	verify, _ := standardwebhooks.NewWebhook(secret)
	seen := map[string]string{}
	for i, body := range bodies {
		if err := verify.VerifyIgnoringTimestamp([]byte(body), heads[i]); err != nil {
			t.Error(err)
		}
		for _, typ := range EventTypes() {
			if strings.Contains(body, fmt.Sprintf(`"type":%q`, typ)) {
				seen[typ] = body
			}
		}
	}
	for typ, wants := range map[string][]string{
		"queue.activated": {`"subject":"x"`, `"source":"urn:sluice:`, `"by":"bootstrap"`, `"cause":"operator"`, `"sequence":"0000000`},
		"queue.released":  {`"subject":"x"`, `"reason":"deactivated"`, `"left":3`},
		"policy.changed":  {`"subject":"x"`, `"pattern":"x"`},
	} {
		for _, want := range wants {
			if !strings.Contains(seen[typ], want) {
				t.Errorf("%s lacks %s: %s", typ, want, seen[typ])
			}
		}
	}
	delivered := func(n int) func() bool {
		return func() bool {
			got := f.do("GET", base+"/webhooks/"+id+"/deliveries?state=delivered", "").want(t, 200, "")
			return len(got.JSON["deliveries"].([]any)) == n
		}
	}
	eventually(t, "the note of it", delivered(3))

	// A sale that is made, changed or deleted is told as a policy is; one that stays as it is is not.
	for _, write := range []struct{ method, body string }{{"PUT", friday}, {"PUT", friday}, {"PUT", strings.Replace(friday, "Friday", "Sunday", 1)}, {"DELETE", ""}} {
		if got := f.do(write.method, base+"/sales/s1", write.body); got.Code > 204 {
			t.Fatal(got.Body)
		}
	}
	eventually(t, "three messages of the sale", delivered(6))
	if _, bodies := to.got(); len(bodies) != 6 || strings.Count(strings.Join(bodies, ""), `"sale":"s1"`) != 3 || !strings.Contains(bodies[5], `"subject":"s1"`) {
		t.Errorf("of the sale: %s", bodies)
	}

	// The test button tells what came of it, and nothing of what the receiver says.
	to.answer(500)
	if got := f.do("POST", base+"/webhooks/"+id+"/test", "").want(t, 200, ""); got.at("status") != 500.0 || got.at("taken") != false || strings.Contains(got.Body, "business") {
		t.Errorf("test: %s", got.Body)
	}
	to.answer(410)
	f.do("PATCH", base+"/policies/x", `{"max_waiting":2}`).want(t, 200, "")
	eventually(t, "the end of it", func() bool {
		return strings.Contains(f.do("GET", base+"/webhooks", "").Body, `"disabled_why":"answered 410"`)
	})
	to.answer(200)
	dead := f.do("GET", base+"/webhooks/"+id+"/deliveries?state=dead", "").want(t, 200, "").JSON["deliveries"].([]any)
	if len(dead) != 1 {
		t.Fatalf("dead letters: %v", dead)
	}
	if got := f.do("POST", base+"/webhooks/"+id+"/enable", "").want(t, 200, ""); got.at("disabled_at") != nil {
		t.Errorf("enabled: %s", got.Body)
	}
	rotated := f.do("POST", base+"/webhooks/"+id+"/rotate", `{"old_secret_seconds":60}`).want(t, 200, "")
	f.do("POST", fmt.Sprintf("%s/webhooks/%s/deliveries/%.0f/resend", base, id, dead[0].(map[string]any)["id"]), "").want(t, 204, "")
	eventually(t, "the resent one", delivered(7))
	heads, bodies = to.got()
	for _, s := range []string{secret, rotated.at("secret").(string)} {
		verify, _ := standardwebhooks.NewWebhook(s)
		if err := verify.VerifyIgnoringTimestamp([]byte(bodies[len(bodies)-1]), heads[len(heads)-1]); err != nil {
			t.Error(err)
		}
	}
	if got := f.do("POST", base+"/webhooks/"+id+"/resend", "").want(t, 200, ""); got.at("resent") != 0.0 {
		t.Errorf("resent %s", got.Body)
	}
	audit := f.do("GET", base+"/audit", "").Body
	for _, want := range []string{"webhook.add", "webhook.rotate", "webhook.enable", "webhook.disable", "webhook.test", "webhook.resend"} {
		if !strings.Contains(audit, want) {
			t.Errorf("the audit lacks %s", want)
		}
	}
	if strings.Contains(audit, "whsec_") {
		t.Error("the audit tells secrets")
	}
	f.do("DELETE", base+"/webhooks/"+id, "").want(t, 204, "")
	f.do("DELETE", base+"/webhooks/"+id, "").want(t, 404, "not_found")
}

func TestWebhooksThatAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	for body, code := range map[string]string{
		`{"url":"http://127.0.0.1:9090/metrics"}`:               "webhook_target", // B146
		`{"url":"http://169.254.169.254/"}`:                     "webhook_target",
		`{"url":"file:///etc/passwd"}`:                          "webhook_target",
		`{"url":"https://8.8.8.8/","types":["queue.exploded"]}`: "invalid_body",
		`{"url":"https://8.8.8.8/","secret":"whsec_x"}`:         "invalid_body",
		`{}`: "webhook_target",
		`{"url":"https://8.8.8.8/","note":"` + strings.Repeat("n", 201) + `"}`: "invalid_body",
	} {
		f.do("POST", base+"/webhooks", body).want(t, 400, code)
	}
	for range sqlstore.MostWebhooks {
		f.do("POST", base+"/webhooks", `{"url":"https://8.8.8.8/"}`).want(t, 201, "")
	}
	f.do("POST", base+"/webhooks", `{"url":"https://8.8.8.8/"}`).want(t, 400, "invalid_body")
	f.do("GET", base+"/webhooks/none/deliveries", "").want(t, 404, "not_found")
	id := f.do("GET", base+"/webhooks", "").JSON["webhooks"].([]any)[0].(map[string]any)["id"].(string)
	f.do("GET", base+"/webhooks/"+id+"/deliveries?state=odd", "").want(t, 400, "invalid_parameter")
	f.do("POST", base+"/webhooks/"+id+"/rotate", `{"old_secret_seconds":604801}`).want(t, 400, "invalid_body")
	f.do("POST", base+"/webhooks/"+id+"/deliveries/7/resend", "").want(t, 404, "not_found")
}
