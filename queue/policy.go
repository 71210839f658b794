package queue

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Mode says who decides whether an item's queue is on.
type Mode string

// The modes of a policy.
const (
	ModeAuto Mode = "auto" // the detector, sales and operators
	ModeOn   Mode = "on"   // always queued
	ModeOff  Mode = "off"  // never queued
)

// Order is the order in which people are let in.
type Order string

// The orders of a policy.
const (
	Fifo   Order = "fifo"   // first come, first served
	Random Order = "random" // those who came during prequeue are drawn by lot; later ones follow
)

// OnFailure is what a visitor without a pass gets while the store cannot be reached.
type OnFailure string

// The choices of on_store_failure.
const (
	FailOpen   OnFailure = "open"
	FailClosed OnFailure = "closed"
)

// Policy says how the items that match its pattern are treated. The JSON names are those of the admin API.
type Policy struct {
	Mode                        Mode      `json:"mode"`
	TriggerRequests             int64     `json:"trigger_requests"`
	TriggerWindowSeconds        int64     `json:"trigger_window_seconds"`
	TriggerNewVisitorsPerMinute int64     `json:"trigger_new_visitors_per_minute"`
	TriggerActiveUsers          int64     `json:"trigger_active_users"`
	ReleaseRatio                float64   `json:"release_ratio"`
	ReleaseAfterSeconds         int64     `json:"release_after_seconds"`
	InflowPerSecond             float64   `json:"inflow_per_second"`
	MaxActiveUsers              int64     `json:"max_active_users"`
	SessionSeconds              int64     `json:"session_seconds"`
	SessionRenewal              bool      `json:"session_renewal"`
	ClaimSeconds                int64     `json:"claim_seconds"`
	AbandonSeconds              int64     `json:"abandon_seconds"`
	ReturnSeconds               int64     `json:"return_seconds"`
	MaxWaiting                  int64     `json:"max_waiting"`
	Order                       Order     `json:"order"`
	OnStoreFailure              OnFailure `json:"on_store_failure"`
	ReturnOrigins               []Origin  `json:"return_origins"`
	AllowedOrigins              []Origin  `json:"allowed_origins"`
	PollBudgetPerSecond         int64     `json:"poll_budget_per_second"`
	WaitPage                    WaitPage  `json:"wait_page"`
}

// What the waiting page knows: the languages it speaks (BCP 47), and the colours that its theme may set.
var (
	PageLanguages = []string{"de", "en", "es", "fr", "ja", "ko", "zh"}
	ThemeColours  = []string{"accent", "background", "text"}
)

// WaitPage is how the waiting page of an item looks and what it says.
type WaitPage struct {
	Theme    map[string]string `json:"theme"`   // colours by name, see ThemeColours
	Title    map[string]string `json:"title"`   // by language, see PageLanguages
	Message  map[string]string `json:"message"` // likewise
	LogoURL  string            `json:"logo_url"`
	AfterURL string            `json:"after_url"` // where people go once the queue is closed
	Status   int               `json:"status"`    // HTTP status of the page
}

// DefaultPolicy is what a policy is where nothing is said.
func DefaultPolicy() Policy {
	return Policy{
		Mode: ModeAuto, TriggerRequests: 500, TriggerWindowSeconds: 10,
		ReleaseRatio: 0.5, ReleaseAfterSeconds: 60, InflowPerSecond: 50,
		SessionSeconds: 300, SessionRenewal: true, ClaimSeconds: 120, AbandonSeconds: 120, ReturnSeconds: 600,
		Order: Fifo, OnStoreFailure: FailOpen, ReturnOrigins: []Origin{}, AllowedOrigins: []Origin{},
		WaitPage: WaitPage{Theme: map[string]string{}, Title: map[string]string{}, Message: map[string]string{}, Status: 200},
	}
}

// MaxNumber ends every number that has no upper end of its own.
const MaxNumber = 1_000_000_000

// Validate gives nil, or ErrInvalidPolicy with a detail that names the first field out of range and its range.
func (p Policy) Validate() error {
	var err error
	bad := func(field, want string) {
		if err == nil {
			err = ErrInvalidPolicy.With(field + " must be " + want + ".")
		}
	}
	if !slices.Contains([]Mode{ModeAuto, ModeOn, ModeOff}, p.Mode) {
		bad("mode", "auto, on or off")
	}
	for _, n := range numbers {
		if !n.Fits(n.Of(p)) {
			bad(n.Field, n.Range())
		}
	}
	if p.Order != Fifo && p.Order != Random {
		bad("order", "fifo or random")
	}
	if p.OnStoreFailure != FailOpen && p.OnStoreFailure != FailClosed {
		bad("on_store_failure", "open or closed")
	}
	for _, list := range []struct {
		field   string
		origins []Origin
	}{{"return_origins", p.ReturnOrigins}, {"allowed_origins", p.AllowedOrigins}} {
		for _, o := range list.origins {
			if !o.canonical() {
				bad(list.field, "a list of origins such as https://shop.example (scheme, host, port, nothing else)")
			}
		}
	}
	p.WaitPage.validate(bad)
	return err
}

func (w WaitPage) validate(bad func(field, want string)) {
	if !slices.Contains([]int{200, 202, 429, 503}, w.Status) {
		bad("wait_page.status", "200, 202, 429 or 503")
	}
	for _, link := range []struct{ field, address string }{{"wait_page.logo_url", w.LogoURL}, {"wait_page.after_url", w.AfterURL}} {
		if _, _, ok := ParseOrigin(link.address); link.address != "" && (!ok || len(link.address) > 2048 || !parses(link.address)) {
			bad(link.field, "an http or https address of at most 2048 characters")
		}
	}
	for _, texts := range []struct {
		field      string
		byLanguage map[string]string
	}{{"wait_page.title", w.Title}, {"wait_page.message", w.Message}} {
		for _, lang := range slices.Sorted(maps.Keys(texts.byLanguage)) {
			if !slices.Contains(PageLanguages, lang) {
				bad(texts.field, "an object with texts by language ("+strings.Join(PageLanguages, ", ")+" and no other)")
			}
			if len(texts.byLanguage[lang]) > 2000 {
				bad(texts.field+"."+lang, "a text of at most 2000 bytes")
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.Theme)) {
		if !slices.Contains(ThemeColours, name) {
			bad("wait_page.theme", "an object with colours by name ("+strings.Join(ThemeColours, ", ")+" and no other)")
		}
		if !colour(w.Theme[name]) {
			bad("wait_page.theme."+name, "a colour such as #0a7 or #00aa77")
		}
	}
}

func parses(address string) bool {
	_, err := url.Parse(address)
	return err == nil
}

func colour(s string) bool {
	if len(s) != 4 && len(s) != 7 || s[0] != '#' {
		return false
	}
	return strings.Trim(s[1:], "0123456789abcdefABCDEF") == ""
}

// Limits gives the numbers that the line obeys; version is that of the settings.
func (p Policy) Limits(version int64) Limits {
	return Limits{
		Version: version, Inflow: p.InflowPerSecond, MaxActive: p.MaxActiveUsers,
		SessionMS: p.SessionSeconds * 1000, SessionRenewal: p.SessionRenewal, ClaimMS: p.ClaimSeconds * 1000,
		AbandonMS: p.AbandonSeconds * 1000, ReturnMS: p.ReturnSeconds * 1000, MaxWaiting: p.MaxWaiting,
		Random: p.Order == Random, Auto: p.Mode == ModeAuto,
		ReleaseAfterMS: p.ReleaseAfterSeconds * 1000, ReleaseRatio: p.ReleaseRatio,
		Trigger: Trigger{
			Requests: p.TriggerRequests, WindowMS: p.TriggerWindowSeconds * 1000,
			NewVisitorsPerMinute: p.TriggerNewVisitorsPerMinute, ActiveUsers: p.TriggerActiveUsers,
		},
	}
}

// TicketLifeMS is how long a ticket holds from its issue: it is renewed at each poll.
func (l Limits) TicketLifeMS() int64 { return max(l.AbandonMS, l.ClaimMS) + l.ReturnMS }

// Pattern says which items a policy is for: an item id in which * stands for any characters, also none.
type Pattern string

// ParsePattern checks a pattern; ErrInvalidPattern where it is none.
func ParsePattern(s string) (Pattern, error) {
	if s == "" || len(s) > maxItem {
		return "", ErrInvalidPattern
	}
	for i := range len(s) {
		if s[i] != '*' && !itemByte(s[i]) {
			return "", ErrInvalidPattern
		}
	}
	return Pattern(s), nil
}

// Exact reports whether the pattern is one item id.
func (p Pattern) Exact() bool { return !strings.Contains(string(p), "*") }

// prefix is the literal part before the first star.
func (p Pattern) prefix() string {
	literal, _, _ := strings.Cut(string(p), "*")
	return literal
}

// literals are what stands between the stars; the first and the last may be empty.
func (p Pattern) literals() []string { return strings.Split(string(p), "*") }

// Match reports whether the item is one of the pattern's. Linear in pattern and item for one star, and never worse
// than their product.
func (p Pattern) Match(item Item) bool { return matches(p.literals(), string(item)) }

// matches reports whether s is the literals in their order with anything between them, the first at its beginning and
// the last at its end.
func matches(literals []string, s string) bool {
	first, rest := literals[0], literals[1:]
	if len(rest) == 0 {
		return first == s
	}
	if !strings.HasPrefix(s, first) {
		return false
	}
	s = s[len(first):]
	last := len(rest) - 1
	for _, mid := range rest[:last] {
		i := strings.Index(s, mid)
		if i < 0 {
			return false
		}
		s = s[i+len(mid):]
	}
	return strings.HasSuffix(s, rest[last])
}

// Compare orders patterns by how specific they are, the most specific first: exact, then the longest literal prefix,
// then the longest pattern, then text order.
func (p Pattern) Compare(o Pattern) int {
	if p.Exact() != o.Exact() {
		if p.Exact() {
			return -1
		}
		return 1
	}
	return cmp.Or(
		-cmp.Compare(len(p.prefix()), len(o.prefix())),
		-cmp.Compare(len(p), len(o)),
		strings.Compare(string(p), string(o)),
	)
}
