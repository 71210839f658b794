package gate

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/queue"
)

func contract(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(openAPI)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestTheContractAndTheRoutesAgree(t *testing.T) {
	t.Parallel()
	doc := contract(t)
	var have, want []string
	for path, p := range doc.Paths.Map() {
		for method := range p.Operations() {
			have = append(have, method+" "+path)
		}
	}
	param := regexp.MustCompile(`[:*](\w+)`)
	for _, e := range newRig(t, 1, nil).nodes[0].engine().Routes() {
		if e.Method != http.MethodConnect { // which OpenAPI has no word for
			want = append(want, e.Method+" "+param.ReplaceAllString(e.Path, "{$1}"))
		}
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("the document has\n%s\nthe routes are\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
}

func TestAnswersAreAsTheContractSays(t *testing.T) {
	t.Parallel()
	doc := contract(t)
	r := newRig(t, 1, func(p *queue.Policy) { p.InflowPerSecond = 2; p.Order = queue.Random })
	r.activate("on")
	r.do("early", queue.SwitchOrder{Action: queue.Gather, Cause: queue.BySale, OpensMS: start.UnixMilli() + 60_000})
	r.do("shut", queue.SwitchOrder{Action: queue.Close})
	r.pass(1e9)
	inside := r.browser()
	token := inside.check("on").pass()
	for _, tc := range []struct{ method, path, body, op string }{
		{"GET", "/v1/items/off/check", "", "/v1/items/{item}/check"},
		{"POST", "/v1/items/on/check", "", "/v1/items/{item}/check"},
		{"GET", "/v1/items/on/check", "", "/v1/items/{item}/check"},
		{"GET", "/v1/items/early/check", "", "/v1/items/{item}/check"},
		{"GET", "/v1/items/shut/check", "", "/v1/items/{item}/check"},
		{"GET", "/v1/items/on/status", "", "/v1/items/{item}/status"},
		{"GET", "/v1/items/a%2Fb/status", "", "/v1/items/{item}/status"},
		{"POST", "/v1/items/on/finish", "", "/v1/items/{item}/finish"},
		{"POST", "/v1/passes/renew", `{"passes":["` + token + `","x"]}`, "/v1/passes/renew"},
		{"POST", "/v1/passes/renew", `{"x":1}`, "/v1/passes/renew"},
		{"GET", "/.well-known/jwks.json", "", "/.well-known/jwks.json"},
		{"GET", "/healthz", "", "/healthz"},
		{"GET", "/readyz", "", "/readyz"},
		{"GET", "/openapi.json", "", "/openapi.json"},
	} {
		w := r.browser().do(tc.method, tc.path, tc.body)
		op := doc.Paths.Value(tc.op).GetOperation(tc.method)
		answer := op.Responses.Status(w.Code)
		if answer == nil {
			t.Errorf("%s %s: %d is not in the document", tc.method, tc.path, w.Code)
			continue
		}
		kind, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
		media := answer.Value.Content.Get(kind)
		if media == nil {
			t.Errorf("%s %s: %s is not in the document", tc.method, tc.path, kind)
			continue
		}
		var v any
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		if err := media.Schema.Value.VisitJSON(v, openapi3.EnableJSONSchema2020()); err != nil {
			t.Errorf("%s %s: %v\n%s", tc.method, tc.path, err, w.Body)
		}
	}
}

// Every refusal of the gate has a status of its own; an unknown code would be a 500.
func TestEveryFaultHasAStatus(t *testing.T) {
	t.Parallel()
	for _, f := range []*fault.Error{ErrReturn, ErrUserNeedsToken, ErrInvalidParameter, ErrPassNeeded, ErrTooManyStreams, queue.ErrNoPlace, queue.ErrInvalidItem, queue.ErrStoreDown} {
		if !slices.Contains(problem.Codes(), f.Code) {
			t.Errorf("%s is not in the table", f.Code)
		}
	}
}
