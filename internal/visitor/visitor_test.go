package visitor_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/internal/visitor"
)

// step is one call: what it must carry, and what it is answered.
type step struct {
	call                 func(*visitor.Visitor, string) (visitor.Answer, error)
	request              string
	token, ticket, pass  string
	status               int
	body, action, failed string
}

func TestAVisitorShowsWhatItWasGiven(t *testing.T) {
	t.Parallel()
	check := func(v *visitor.Visitor, node string) (visitor.Answer, error) { return v.Check(t.Context(), node) }
	status := func(v *visitor.Visitor, node string) (visitor.Answer, error) { return v.Status(t.Context(), node) }
	finish := func(v *visitor.Visitor, node string) (visitor.Answer, error) {
		return visitor.Answer{}, v.Finish(t.Context(), node)
	}
	const checks, statuses, finishes = "GET /v1/items/sku-1/check", "GET /v1/items/sku-1/status", "POST /v1/items/sku-1/finish"
	var now step
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Method + " " + r.URL.Path; got != now.request {
			t.Errorf("%s, want %s", got, now.request)
		}
		for name, want := range map[string]string{"Sluice-Visitor": now.token, "Sluice-Ticket": now.ticket, "Sluice-Pass": now.pass} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: %s %q, want %q", now.request, name, got, want)
			}
		}
		w.WriteHeader(now.status)
		_, _ = w.Write([]byte(now.body))
	}))
	defer node.Close()
	v := &visitor.Visitor{Client: node.Client(), Item: "sku-1"}
	for _, now = range []step{
		{call: check, request: checks, status: 200, action: "wait", body: `{"action":"wait","visitor":"v1","place":{"ticket":"t1","position":7}}`},
		{call: status, request: statuses, token: "v1", ticket: "t1", status: 200, action: "wait", body: `{"action":"wait","visitor":"v1","place":{"ticket":"t2"}}`},
		{call: status, request: statuses, token: "v1", ticket: "t2", status: 503, failed: "503: busy", body: "busy"},
		{call: status, request: statuses, token: "v1", ticket: "t2", status: 200, failed: "/status", body: "<html>"},
		{call: status, request: statuses, token: "v1", ticket: "t2", status: 200, action: "pass", body: `{"action":"pass","visitor":"v2","pass":{"token":"p1"}}`},
		{call: check, request: checks, token: "v2", pass: "p1", status: 200, action: "pass", body: `{"action":"pass","visitor":"v2","pass":{"token":"p2"}}`},
		{call: finish, request: finishes, token: "v2", pass: "p2", status: 409, failed: "409"},
		{call: finish, request: finishes, token: "v2", pass: "p2", status: 204},
	} {
		a, err := now.call(v, node.URL)
		if now.failed == "" && err != nil || now.failed != "" && (err == nil || !strings.Contains(err.Error(), now.failed)) || a.Action != now.action {
			t.Errorf("%s: %+v, %v", now.request, a, err)
		}
	}
}

func TestWhatIsNotSaidIsNoZero(t *testing.T) {
	t.Parallel()
	body := `{"action":"wait","visitor":"v1","place":{"ticket":"t1","position":null,"eta_seconds":0}}`
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
	defer node.Close()
	v := &visitor.Visitor{Client: node.Client(), Item: "sku-1"}
	a, err := v.Check(t.Context(), node.URL)
	if err != nil || a.Place == nil || a.Place.Position != nil || a.Place.EtaSeconds == nil || *a.Place.EtaSeconds != 0 || a.Pass != nil { // B014
		t.Errorf("%+v, %v", a, err)
	}
	node.Close()
	if _, err := v.Status(t.Context(), node.URL); err == nil {
		t.Error("a node that is gone answers")
	}
}
