package queue_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/queue"
)

func TestTheDefaultPolicyIsValid(t *testing.T) {
	t.Parallel()
	if err := queue.DefaultPolicy().Validate(); err != nil {
		t.Error(err)
	}
}

// refuses checks that a policy changed so is refused with a detail that begins with the field's name; with field ""
// that it is accepted.
func refuses(t *testing.T, what, field string, change func(*queue.Policy)) {
	t.Helper()
	p := queue.DefaultPolicy()
	change(&p)
	err := p.Validate()
	if field == "" {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		return
	}
	var f *fault.Error
	if !errors.Is(err, queue.ErrInvalidPolicy) || !errors.As(err, &f) || !strings.HasPrefix(f.Detail, field+" must be ") {
		t.Errorf("%s: %v, want a refusal of %s", what, err, field)
	}
}

func TestEachWholeNumberHasItsRange(t *testing.T) {
	t.Parallel()
	const most = queue.MaxNumber
	for _, tc := range []struct {
		field    string
		of       func(*queue.Policy) *int64
		from, to int64
	}{
		{"trigger_requests", func(p *queue.Policy) *int64 { return &p.TriggerRequests }, 1, most},
		{"trigger_window_seconds", func(p *queue.Policy) *int64 { return &p.TriggerWindowSeconds }, 1, 600},
		{"trigger_new_visitors_per_minute", func(p *queue.Policy) *int64 { return &p.TriggerNewVisitorsPerMinute }, 0, most},
		{"trigger_active_users", func(p *queue.Policy) *int64 { return &p.TriggerActiveUsers }, 0, most},
		{"release_after_seconds", func(p *queue.Policy) *int64 { return &p.ReleaseAfterSeconds }, 0, 86400},
		{"max_active_users", func(p *queue.Policy) *int64 { return &p.MaxActiveUsers }, 0, most},
		{"session_seconds", func(p *queue.Policy) *int64 { return &p.SessionSeconds }, 30, 86400},
		{"claim_seconds", func(p *queue.Policy) *int64 { return &p.ClaimSeconds }, 10, 3600},
		{"abandon_seconds", func(p *queue.Policy) *int64 { return &p.AbandonSeconds }, 30, 86400},
		{"return_seconds", func(p *queue.Policy) *int64 { return &p.ReturnSeconds }, 0, 86400},
		{"max_waiting", func(p *queue.Policy) *int64 { return &p.MaxWaiting }, 0, most},
		{"poll_budget_per_second", func(p *queue.Policy) *int64 { return &p.PollBudgetPerSecond }, 0, most},
	} {
		for v, field := range map[int64]string{
			tc.from: "", tc.to: "", tc.from - 1: tc.field, tc.to + 1: tc.field, math.MinInt64: tc.field, math.MaxInt64: tc.field,
		} {
			refuses(t, fmt.Sprintf("%s of %d", tc.field, v), field, func(p *queue.Policy) { *tc.of(p) = v })
		}
		p := queue.DefaultPolicy()
		*tc.of(&p) = tc.to + 1
		if err := p.Validate(); !strings.Contains(err.Error(), fmt.Sprintf("from %d to %d", tc.from, tc.to)) {
			t.Errorf("%s: %v names not the range", tc.field, err)
		}
	}
}

// B142
func TestEachNumberHasItsRange(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		field string
		of    func(*queue.Policy) *float64
		to    float64
	}{
		{"release_ratio", func(p *queue.Policy) *float64 { return &p.ReleaseRatio }, 1},
		{"inflow_per_second", func(p *queue.Policy) *float64 { return &p.InflowPerSecond }, queue.MaxNumber},
	} {
		for _, v := range []float64{0, math.Copysign(0, -1), 1e-9, math.SmallestNonzeroFloat64, tc.to} {
			refuses(t, fmt.Sprintf("%s of %g", tc.field, v), "", func(p *queue.Policy) { *tc.of(p) = v })
		}
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1e-9, -1, math.Nextafter(tc.to, math.Inf(1)), math.MaxFloat64} {
			refuses(t, fmt.Sprintf("%s of %g", tc.field, v), tc.field, func(p *queue.Policy) { *tc.of(p) = v })
		}
	}
}

// B142
func TestNobodyIsLetInAtAZeroWithAMinus(t *testing.T) {
	t.Parallel()
	p := queue.DefaultPolicy()
	p.InflowPerSecond = math.Copysign(0, -1)
	if e := queue.EstimateWait(1, queue.Flow{InflowPerSecond: p.Limits(1).Inflow}); e.Known {
		t.Errorf("%+v", e)
	}
}

func TestEachWordIsOneOfItsList(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		field      string
		set        func(*queue.Policy, string)
		good, evil []string
	}{
		{"mode", func(p *queue.Policy, s string) { p.Mode = queue.Mode(s) }, []string{"auto", "on", "off"}, []string{"", "Auto", "paused"}},
		{"order", func(p *queue.Policy, s string) { p.Order = queue.Order(s) }, []string{"fifo", "random"}, []string{"", "lifo"}},
		{"on_store_failure", func(p *queue.Policy, s string) { p.OnStoreFailure = queue.OnFailure(s) }, []string{"open", "closed"}, []string{"", "shut"}},
	} {
		for _, s := range tc.good {
			refuses(t, tc.field+" "+s, "", func(p *queue.Policy) { tc.set(p, s) })
		}
		for _, s := range tc.evil {
			refuses(t, tc.field+" "+s, tc.field, func(p *queue.Policy) { tc.set(p, s) })
		}
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	good := []queue.Origin{
		"https://shop.example", "http://shop.example", "http://localhost:3000", "https://127.0.0.1:8443", "https://[::1]:8443",
		"https://[2001:db8::1]", "https://xn--bcher-kva.example",
	}
	evil := []queue.Origin{
		"", "null", "*", "shop.example", "//shop.example", "https://", "https://:443", "https://shop.example:", "ftp://shop.example",
		"https://shop.example/", "https://shop.example/a", "https://shop.example?a", "https://shop.example?", "https://shop.example#a",
		"https://shop.example#", "https://user@shop.example", "https://user:pass@shop.example", "https://@shop.example",
		"https://Shop.example", "HTTPS://shop.example", " https://shop.example", "https://shop.example ", "https://shop.example\n",
		"https://shop.example:port", "https:shop.example", "https:/shop.example", `https:\\shop.example`, `https://shop.example\@evil.example`,
		"javascript:alert(1)", "data:text/html,a", "https://[::1", "https://a b.example",
	}
	for field, set := range map[string]func(*queue.Policy, ...queue.Origin){
		"return_origins":  func(p *queue.Policy, o ...queue.Origin) { p.ReturnOrigins = o },
		"allowed_origins": func(p *queue.Policy, o ...queue.Origin) { p.AllowedOrigins = o },
	} {
		refuses(t, "no "+field, "", func(p *queue.Policy) { set(p) })
		refuses(t, "all good "+field, "", func(p *queue.Policy) { set(p, good...) })
		for _, o := range evil {
			refuses(t, fmt.Sprintf("%s %q", field, o), field, func(p *queue.Policy) { set(p, "https://shop.example", o) })
		}
	}
}

// B146: a logo is of the web.
func TestWaitPages(t *testing.T) {
	t.Parallel()
	type page = queue.WaitPage
	one := func(k, v string) map[string]string { return map[string]string{k: v} }
	for _, tc := range []struct {
		name, field string // "" = accepted
		set         func(*page)
	}{
		{"each status that makes sense", "", func(p *page) { p.Status = 503 }},
		{"no status", "wait_page.status", func(p *page) { p.Status = 0 }},
		{"a status that redirects", "wait_page.status", func(p *page) { p.Status = 302 }},
		{"a logo", "", func(p *page) { p.LogoURL = "https://cdn.example/logo.svg?v=2" }},
		{"a logo that is a script", "wait_page.logo_url", func(p *page) { p.LogoURL = "javascript:alert(1)" }},
		{"a logo in the address itself", "wait_page.logo_url", func(p *page) { p.LogoURL = "data:image/svg+xml,a" }},
		{"a logo without a host", "wait_page.logo_url", func(p *page) { p.LogoURL = "/logo.svg" }},
		{"an address with a name in it", "wait_page.after_url", func(p *page) { p.AfterURL = "https://a@shop.example/" }},
		{"an address that is none", "wait_page.after_url", func(p *page) { p.AfterURL = "https://[" }},
		{"the longest address", "", func(p *page) { p.AfterURL = "https://a.example/" + strings.Repeat("a", 2048-18) }},
		{"an address too long", "wait_page.after_url", func(p *page) { p.AfterURL = "https://a.example/" + strings.Repeat("a", 2048-17) }},
		{"the longest text", "", func(p *page) { p.Message = one("ko", strings.Repeat("a", 2000)) }},
		{"a text too long names its language", "wait_page.message.ko", func(p *page) { p.Message = one("ko", strings.Repeat("a", 2001)) }},
		{"a title too long", "wait_page.title.en", func(p *page) { p.Title = one("en", strings.Repeat("a", 2001)) }},
		{"a language that the page does not speak", "wait_page.title", func(p *page) { p.Title = one("pt", "Olá") }},
		{"a language with a country", "wait_page.message", func(p *page) { p.Message = one("ko-KR", "안녕") }},
		{"both forms of a colour", "", func(p *page) { p.Theme = map[string]string{"accent": "#0a7", "text": "#00AA77"} }},
		{"a colour that the page does not use", "wait_page.theme", func(p *page) { p.Theme = one("backgruond", "#0a7") }},
		{"a colour's name", "wait_page.theme.accent", func(p *page) { p.Theme = one("accent", "red") }},
		{"a colour with more behind it", "wait_page.theme.accent", func(p *page) { p.Theme = one("accent", "#0a7;}") }},
		{"a colour that lacks a digit", "wait_page.theme.accent", func(p *page) { p.Theme = one("accent", "#00aa7") }},
		{"a digit that is none", "wait_page.theme.accent", func(p *page) { p.Theme = one("accent", "#0g7") }},
		{"no colour", "wait_page.theme.accent", func(p *page) { p.Theme = one("accent", "") }},
	} {
		refuses(t, tc.name, tc.field, func(p *queue.Policy) { tc.set(&p.WaitPage) })
	}
}

func TestOfSeveralFieldsTheFirstIsNamedEachTime(t *testing.T) {
	t.Parallel()
	for range 50 {
		refuses(t, "origins", "return_origins", func(p *queue.Policy) {
			p.AllowedOrigins, p.ReturnOrigins = []queue.Origin{"*"}, []queue.Origin{"*"}
		})
		refuses(t, "addresses", "wait_page.logo_url", func(p *queue.Policy) {
			p.WaitPage.LogoURL, p.WaitPage.AfterURL = "x", "x"
		})
		refuses(t, "texts", "wait_page.title.en", func(p *queue.Policy) {
			long := strings.Repeat("a", 2001)
			p.WaitPage.Title, p.WaitPage.Message = map[string]string{"ko": long, "en": long}, map[string]string{"de": long}
		})
		refuses(t, "colours", "wait_page.theme.accent", func(p *queue.Policy) {
			p.WaitPage.Theme = map[string]string{"text": "x", "accent": "x", "background": "x"}
		})
	}
}

func TestLimitsAreThePolicysNumbers(t *testing.T) {
	t.Parallel()
	p := queue.DefaultPolicy()
	p.Order, p.MaxActiveUsers, p.MaxWaiting, p.TriggerNewVisitorsPerMinute, p.TriggerActiveUsers = queue.Random, 7, 8, 9, 10
	want := queue.Limits{
		Version: 42, Inflow: 50, MaxActive: 7, SessionMS: 300_000, SessionRenewal: true, ClaimMS: 120_000, AbandonMS: 120_000,
		ReturnMS: 600_000, MaxWaiting: 8, Random: true, Auto: true, ReleaseAfterMS: 60_000, ReleaseRatio: 0.5,
		Trigger: queue.Trigger{Requests: 500, WindowMS: 10_000, NewVisitorsPerMinute: 9, ActiveUsers: 10},
	}
	if got := p.Limits(42); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, m := range []queue.Mode{queue.ModeOn, queue.ModeOff} {
		if p.Mode = m; p.Limits(1).Auto {
			t.Errorf("mode %s may be released", m)
		}
	}
}

func TestATicketOutlivesSilenceAndClaimByTheReturn(t *testing.T) {
	t.Parallel()
	for want, l := range map[int64]queue.Limits{
		720_000: {AbandonMS: 120_000, ClaimMS: 60_000, ReturnMS: 600_000},
		300_000: {AbandonMS: 30_000, ClaimMS: 300_000},
	} {
		if got := l.TicketLifeMS(); got != want {
			t.Errorf("%+v: %d, want %d", l, got, want)
		}
	}
}
