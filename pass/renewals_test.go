package pass_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/pass"
)

// stub is a service that says what the test tells it to.
type stub struct {
	*httptest.Server
	key *pass.Key

	mu     sync.Mutex
	calls  map[string]int // by path
	ended  map[string]bool
	down   bool
	hidden bool // the key set lacks the key
	clock  *clock.Hand
}

func newStub(t testing.TB) *stub {
	s := &stub{key: pass.NewKey([32]byte{1}), calls: map[string]int{}, ended: map[string]bool{}, clock: clock.At(time.Date(2026, 12, 1, 11, 0, 0, 0, time.UTC))}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[r.URL.Path]++
	switch {
	case s.down:
		w.WriteHeader(http.StatusBadGateway)
	case r.URL.Path == "/.well-known/jwks.json":
		key := s.key
		if s.hidden {
			key = pass.NewKey([32]byte{2})
		}
		w.Write(pass.NewKeys(key).MarshalJWKS())
	case r.URL.Path == "/v1/passes/renew":
		var body struct{ Passes []string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		if len(body.Passes) > 100 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		v := pass.Verifier{Keys: pass.NewKeys(s.key), Now: s.clock.Now}
		var out []map[string]string
		for _, token := range body.Passes {
			c, err := v.VerifyAny(token)
			switch {
			case err != nil:
				out = append(out, map[string]string{"error": "expired"})
			case s.ended[c.Visitor]:
				out = append(out, map[string]string{"error": "ended"})
			default:
				out = append(out, map[string]string{"token": s.sign(c.Item, c.Visitor)})
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"passes": out})
	case strings.HasSuffix(r.URL.Path, "/finish"):
		w.WriteHeader(http.StatusNoContent)
	default:
		fmt.Fprint(w, `{"action":"wait","reason":"queue_on","place":null}`)
	}
}

// sign issues a pass of ten minutes.
func (s *stub) sign(item, visitor string) string {
	now := s.clock.Now()
	return s.key.Sign(pass.Claims{Issuer: s.URL, Item: item, Visitor: visitor, ID: "j", IssuedAt: now, ExpiresAt: now.Add(10 * time.Minute), Generation: 1})
}

func (s *stub) called(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[path]
}

func (s *stub) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *stub) guard(t testing.TB) *pass.Middleware {
	t.Helper()
	m, err := pass.NewMiddleware(pass.Options{Service: s.URL, Item: itemOf, Now: s.clock.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// show opens a page with a pass in the cookie, and gives the status and the pass that the answer sets.
func show(m *pass.Middleware, item, token string) (status int, fresh string) {
	r := httptest.NewRequest("GET", "/product/"+item, nil)
	r.AddCookie(&http.Cookie{Name: pass.CookieName(item), Value: token})
	w := httptest.NewRecorder()
	m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })).ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		if c.Name == pass.CookieName(item) {
			fresh = c.Value
		}
	}
	return w.Code, fresh
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func TestPassesAreRenewedBesideTheRequestsAHundredInACall(t *testing.T) {
	t.Parallel()
	s := newStub(t)
	m := s.guard(t)
	const people = 250
	tokens := make([]string, people)
	for i := range tokens {
		tokens[i] = s.sign("sku-1", fmt.Sprint("v", i))
		if status, fresh := show(m, "sku-1", tokens[i]); status != 200 || fresh != "" {
			t.Fatalf("visitor %d: %d, %q", i, status, fresh)
		}
	}
	if n := s.called("/v1/passes/renew"); n != 0 {
		t.Errorf("%d calls for passes in the first tenth of their session", n)
	}
	s.clock.Add(time.Minute)
	for range 3 {
		for _, token := range tokens {
			show(m, "sku-1", token)
		}
	}
	eventually(t, "all are renewed", func() bool { return m.Count(pass.Renewed) == people })
	if n := s.called("/v1/passes/renew"); n < 3 || n > 12 {
		t.Errorf("%d calls for %d passes", n, people)
	}
	for i, token := range tokens {
		status, fresh := show(m, "sku-1", token)
		if status != 200 || fresh != s.sign("sku-1", fmt.Sprint("v", i)) {
			t.Fatalf("visitor %d got %d and the pass %q", i, status, fresh)
		}
	}
	s.clock.Add(9*time.Minute + 30*time.Second) // the first passes have ended by now, the newer ones not
	if status, _ := show(m, "sku-1", tokens[0]); status == 200 {
		t.Error("a pass that has ended opens the page")
	}
}

func TestASessionThatWasEndedIsNoticedByTheRenewal(t *testing.T) {
	t.Parallel()
	s := newStub(t)
	m := s.guard(t)
	token := s.sign("sku-1", "v")
	s.set(func() { s.ended["v"] = true })
	s.clock.Add(time.Minute)
	show(m, "sku-1", token)
	eventually(t, "the end is noticed", func() bool { return m.Count(pass.Ended) == 1 })
	if status, _ := show(m, "sku-1", token); status != http.StatusFound {
		t.Errorf("after the end: %d", status)
	}
}

func TestPassesHoldWhileSluiceIsAwayAndAreRenewedAfterwards(t *testing.T) {
	t.Parallel()
	s := newStub(t)
	m := s.guard(t)
	token := s.sign("sku-1", "v")
	show(m, "sku-1", token)
	s.set(func() { s.down = true })
	for range 8 {
		s.clock.Add(time.Minute)
		if status, _ := show(m, "sku-1", token); status != 200 {
			t.Fatalf("at %v: %d", s.clock.Now(), status)
		}
	}
	eventually(t, "a renewal fails", func() bool { return m.Count(pass.Unreachable) > 0 })
	s.set(func() { s.down = false })
	eventually(t, "it is renewed", func() bool {
		s.clock.Add(time.Second)
		show(m, "sku-1", token)
		return m.Count(pass.Renewed) > 0
	})
}

func TestAKeyThatIsNotKnownCostsOneFetchAMinute(t *testing.T) {
	t.Parallel()
	s := newStub(t)
	m := s.guard(t)
	s.set(func() { s.hidden = true })
	stranger := s.sign("sku-1", "v")
	for range 50 {
		show(m, "sku-1", stranger)
	}
	if n := s.called("/.well-known/jwks.json"); n != 1 {
		t.Errorf("%d fetches within a minute", n)
	}
	s.set(func() { s.hidden = false })
	s.clock.Add(61 * time.Second)
	if status, _ := show(m, "sku-1", stranger); status != 200 {
		t.Errorf("the key is published by now: %d", status)
	}
	for range 50 {
		show(m, "sku-1", pass.NewKey([32]byte{9}).Sign(pass.Claims{Item: "sku-1"}))
	}
	if n := s.called("/.well-known/jwks.json"); n != 2 {
		t.Errorf("%d fetches", n)
	}
}

// What came in an address is taken within a minute of its issue, and is taken off the address in any case.
func TestALinkWithAPassIsOfNoUseForLong(t *testing.T) {
	t.Parallel()
	s := newStub(t)
	m := s.guard(t)
	token := s.sign("sku-1", "v")
	for after, taken := range map[time.Duration]bool{0: true, 59 * time.Second: true, 62 * time.Second: false} {
		t.Run(after.String(), func(t *testing.T) {
			s.clock.Set(time.Date(2026, 12, 1, 11, 0, 0, 0, time.UTC).Add(after))
			w := httptest.NewRecorder()
			m.Handler(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest("GET", "/product/sku-1?sluice_pass="+token, nil))
			if got := len(w.Result().Cookies()) == 1; w.Code != 302 || w.Header().Get("Location") != "/product/sku-1" || got != taken {
				t.Errorf("%d to %s, taken: %v", w.Code, w.Header().Get("Location"), got)
			}
		})
	}
}

// The address that the waiting page leads back to may be a page without an item: the pass goes from there too.
func TestAPageWithoutAnItemKeepsNoPassInItsAddress(t *testing.T) {
	t.Parallel()
	s := newStub(t)
	m := s.guard(t)
	for token, cookie := range map[string]string{s.sign("sku-1", "v"): "sluice_pass_sku-1", "made up": ""} {
		w := httptest.NewRecorder()
		m.Handler(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest("GET", "/welcome?a=1&sluice_pass="+url.QueryEscape(token), nil))
		name := ""
		for _, c := range w.Result().Cookies() {
			name = c.Name
		}
		if w.Code != 302 || w.Header().Get("Location") != "/welcome?a=1" || name != cookie {
			t.Errorf("%d to %s with the cookie %q, want %q", w.Code, w.Header().Get("Location"), name, cookie)
		}
	}
}

// A session that a handler ends is over here at once: the cookie goes, and the pass opens nothing, nor does the newer one
// that it was renewed to meanwhile.
func TestASessionThatIsFinishedIsOverAtOnce(t *testing.T) {
	t.Parallel()
	s := newStub(t)
	m := s.guard(t)
	token := s.sign("sku-1", "v")
	show(m, "sku-1", token)
	s.clock.Add(time.Minute)
	show(m, "sku-1", token)
	eventually(t, "it is renewed", func() bool { return m.Count(pass.Renewed) == 1 })
	_, fresh := show(m, "sku-1", token)
	other := s.sign("sku-1", "w")

	r := httptest.NewRequest("POST", "/product/sku-1", nil)
	r.AddCookie(&http.Cookie{Name: "sluice_pass_sku-1", Value: token})
	w := httptest.NewRecorder()
	m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := m.Finish(w, r); err != nil {
			t.Error(err)
		}
	})).ServeHTTP(w, r)
	cookies := w.Result().Cookies()
	if last := cookies[len(cookies)-1]; last.Name != "sluice_pass_sku-1" || last.MaxAge >= 0 || w.Header().Get("Cache-Control") != "private, no-store" {
		t.Errorf("the answer: %v", w.Header())
	}
	if s.called("/v1/items/sku-1/finish") != 1 || m.Count(pass.Finished) != 1 {
		t.Errorf("Sluice was told %d times", s.called("/v1/items/sku-1/finish"))
	}
	for name, one := range map[string]string{"the pass": token, "the newer one": fresh} {
		if status, _ := show(m, "sku-1", one); one == "" || status != http.StatusFound {
			t.Errorf("%s opens the page: %d", name, status)
		}
	}
	if status, _ := show(m, "sku-1", other); status != 200 {
		t.Errorf("somebody else: %d", status)
	}

	// Without a pass there is nothing to end; with Sluice away the pass is over here all the same.
	s.set(func() { s.down = true })
	for name, one := range map[string]struct {
		token string
		fails bool
	}{"without a pass": {"", false}, "with Sluice away": {other, true}} {
		r := httptest.NewRequest("POST", "/product/sku-1", nil)
		if one.token == "" {
			r = httptest.NewRequest("POST", "/", nil)
		}
		r.Header.Set("Sluice-Pass", one.token)
		m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := m.Finish(w, r); (err != nil) != one.fails {
				t.Errorf("%s: %v", name, err)
			}
		})).ServeHTTP(httptest.NewRecorder(), r)
	}
	if status, _ := show(m, "sku-1", other); status == 200 {
		t.Error("after the end, with Sluice away, the pass opens the page")
	}
}

func TestWhatTheMiddlewareDidIsInItsMetrics(t *testing.T) {
	t.Parallel()
	s := newStub(t)
	m := s.guard(t)
	show(m, "sku-1", s.sign("sku-1", "v"))
	show(m, "sku-1", "none")
	w := httptest.NewRecorder()
	m.ServeMetrics(w, nil)
	for _, want := range []string{
		"# TYPE sluice_origin_requests_total counter\n", `sluice_origin_requests_total{result="verified"} 1` + "\n",
		`sluice_origin_requests_total{result="wait"} 1` + "\n", "sluice_origin_key_fetches_total 1\n", "sluice_origin_call_errors_total 0\n",
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %q in\n%s", want, w.Body)
		}
	}
}

func BenchmarkMiddlewareWithAPass(b *testing.B) {
	s := newStub(b)
	m := s.guard(b)
	h := m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r := httptest.NewRequest("GET", "/product/sku-1", nil)
	r.AddCookie(&http.Cookie{Name: "shop", Value: "session"})
	r.AddCookie(&http.Cookie{Name: pass.CookieName("sku-1"), Value: s.sign("sku-1", "v")})
	w := httptest.NewRecorder()
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(w, r)
	}
}
