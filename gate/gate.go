package gate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"golang.org/x/sync/singleflight"

	"github.com/sluicehq/sluice/detector"
	"github.com/sluicehq/sluice/gate/page"
	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/internal/itempattern"
	"github.com/sluicehq/sluice/internal/proxies"
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/internal/ticket"
	"github.com/sluicehq/sluice/pass"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/batch"
)

// line is what the gate itself calls of a line; asks and beats go through their batches.
type line interface {
	End(ctx context.Context, item queue.Item, e queue.Ending) (queue.EndReport, error)
	Switch(ctx context.Context, item queue.Item, o queue.SwitchOrder) (queue.SwitchReport, error)
	Positions(ctx context.Context, item queue.Item) (queue.Table, error)
	Head(ctx context.Context, item queue.Item, most int) (queue.Head, error)
	Look(ctx context.Context, item queue.Item) (queue.Snapshot, error)
}

// asker is batch.Asks.
type asker interface {
	Ask(ctx context.Context, item queue.Item, ask queue.Ask) (batch.Reply, error)
}

// beats is batch.Beats.
type beats interface {
	Heard(item queue.Item, v queue.Visitor)
	Renew(item queue.Item, beat queue.Beat)
	Gone(item queue.Item, v queue.Visitor) bool
	EndPass(item queue.Item, v queue.Visitor, untilMS int64)
	PassEnded(item queue.Item, v queue.Visitor, issuedMS int64) bool
	EndPlace(item queue.Item, v queue.Visitor, score, atMS int64)
	PlaceEnded(item queue.Item, v queue.Visitor, t queue.Ticket) bool
}

// counter is detector.Counter.
type counter interface {
	Count(item queue.Item, v queue.Visitor, newcomer bool, needs detector.Needs, nowMS int64) (trip bool)
}

// tripper is detector.Flusher.
type tripper interface {
	Trip(ctx context.Context, item queue.Item) (queue.Header, error)
}

// Recorder takes note of what was answered. It is called on every check and must be cheap.
type Recorder interface {
	// Check is called for each check and authorize, and for each `pass` of other answers.
	Check(item queue.Item, action Action, reason Reason)
	// Shed is called for each event stream that found no room.
	Shed()
	// Told is called for some of those who were let in: how long they were told to wait when they joined, and how long
	// they did.
	Told(told, took time.Duration)
}

// Traces makes the spans of visitors' requests.
type Traces interface {
	// Visit is called once it is known who asks, with the line that the visitor stands or will stand in (generation 0 =
	// none), before anything is asked of the store. It may put another context into the request.
	Visit(r *http.Request, item queue.Item, v queue.Visitor, g queue.Generation)
	// Said is called with each verdict.
	Said(ctx context.Context, action, reason string)
}

type untraced struct{}

func (untraced) Visit(*http.Request, queue.Item, queue.Visitor, queue.Generation) {}
func (untraced) Said(context.Context, string, string)                             {}

type silent struct{}

func (silent) Check(queue.Item, Action, Reason) {}
func (silent) Shed()                            {}
func (silent) Told(_, _ time.Duration)          {}

// Options configures a Gate. Line, Asks, Beats, Board, Settings, Counter, Trips and Keys are required; the zero value
// of every other field is its default.
type Options struct {
	Line     line
	Asks     asker
	Beats    beats
	Board    *queue.Board
	Settings *settings.Holder
	Counter  counter
	Trips    tripper
	Keys     *ticket.Keyring // pass key 1 signs until SetPassKeys says otherwise

	Clock    *clock.Store // the store's clock; nil = the machine's
	Patterns itempattern.Patterns

	PublicURL      string          // what browsers see; "" = http://localhost:8080
	CookieDomain   string          // "" = this host only
	PassCookie     bool            // also set sluice_pass_<item>
	TrustedProxies proxies.Trusted // whose X-Forwarded-* is believed
	MaxStreams     int             // event streams at once; 0 = 10,000, NoStreams = none

	// Connector gives the customer id and the secret of sites with a connector made for Queue-it; "" or nil = there are none.
	Connector func() (customerID, secret string)

	StoreUp func() bool // whether the store can be reached; nil = always
	// StorePatience is how long a visitor's request waits for the store, in real time; 0 = 500 ms.
	StorePatience time.Duration
	// Synced reports whether the board has had the states of all queues since the start; nil = it has. Until then the
	// state of an item that it does not know is unknown, and not off.
	Synced func() bool
	// Told is called with the instant (ms) up to which a visitor near the head was told to stay silent; nil = nobody
	// wants to know. After a loss of the store nobody is let in before it.
	Told     func(item queue.Item, untilMS int64)
	Ready    func() bool // whether the node can serve, beside having settings and not draining; nil = while Synced
	Recorder Recorder
	Traces   Traces // nil = nothing is traced
	// Around run around each request, before anything else.
	Around []gin.HandlerFunc
	Log    *slog.Logger // nil = slog.Default()
}

// Gate answers visitors. It is safe for use by many goroutines.
type Gate struct {
	Options
	site    site
	base    clock.Clock // what the clock of the store is an offset of
	handler http.Handler

	pages *page.Pages

	keys   atomic.Pointer[passKeys]
	cache  *pass.Cache
	signed signedPasses

	tables      looks[queue.Table]
	heads       looks[queue.Head]
	flows       flows
	etas        etas
	globs       globs
	activations singleflight.Group

	streams  atomic.Int64
	draining chan struct{}
	drain    sync.Once
	logged   atomic.Int64 // unix seconds of the last line about the store
}

// NoStreams is a MaxStreams that refuses each event stream: pages poll.
const NoStreams = -1

// passKeys are the keys in use, and what follows from them.
type passKeys struct {
	signing  *pass.Key
	verifier *pass.Verifier
	jwks     []byte
}

// New makes a Gate. The error names the option that is wrong.
func New(o Options) (*Gate, error) {
	for _, option := range []struct {
		name    string
		missing bool
	}{
		{"Line", o.Line == nil}, {"Asks", o.Asks == nil}, {"Beats", o.Beats == nil}, {"Board", o.Board == nil},
		{"Settings", o.Settings == nil}, {"Counter", o.Counter == nil}, {"Trips", o.Trips == nil}, {"Keys", o.Keys == nil},
	} {
		if option.missing {
			return nil, fmt.Errorf("gate: option %s is missing", option.name)
		}
	}
	if o.PublicURL == "" {
		o.PublicURL = "http://localhost:8080"
	}
	if o.MaxStreams == 0 {
		o.MaxStreams = 10_000
	}
	if o.Clock == nil {
		o.Clock = &clock.Store{}
	}
	if o.StorePatience == 0 {
		o.StorePatience = 500 * time.Millisecond
	}
	if o.StoreUp == nil {
		o.StoreUp = func() bool { return true }
	}
	if o.Synced == nil {
		o.Synced = func() bool { return true }
	}
	if o.Ready == nil {
		o.Ready = o.Synced
	}
	if o.Connector == nil {
		o.Connector = func() (string, string) { return "", "" }
	}
	if o.Recorder == nil {
		o.Recorder = silent{}
	}
	if o.Traces == nil {
		o.Traces = untraced{}
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	g := &Gate{
		Options: o, cache: pass.NewCache(65_536), signed: newSignedPasses(), draining: make(chan struct{}),
	}
	g.base = o.Clock.Base
	if g.base == nil {
		g.base = clock.System{}
	}
	var err error
	if g.site, err = newSite(o.PublicURL, o.CookieDomain); err != nil {
		return nil, err
	}
	if g.pages, err = page.New(); err != nil {
		return nil, err
	}
	g.tables.take, g.tables.life, g.tables.patience, g.tables.clock = o.Line.Positions, tableLife, o.StorePatience, g.base
	g.heads.take, g.heads.life, g.heads.patience, g.heads.clock = g.head, headLife, o.StorePatience, g.base
	signing, all := o.Keys.PassKeys()
	g.SetPassKeys(signing, pass.NewKeys(all...))
	g.handler = g.engine()
	return g, nil
}

// Handler serves the visitor listener. The server in front of it sets MaxHeaderBytes to problem.MaxHeaders.
func (g *Gate) Handler() http.Handler { return g.handler }

// SetPassKeys takes other pass keys into use: the one that signs, and all that verify and are published.
func (g *Gate) SetPassKeys(signing *pass.Key, all *pass.Keys) {
	g.keys.Store(&passKeys{
		signing: signing,
		jwks:    all.MarshalJWKS(),
		verifier: &pass.Verifier{
			Keys: all, Issuer: g.site.url, Now: g.Clock.Now, Cache: g.cache, Known: g.Keys.KnowsPass,
		},
	})
}

// Drain makes the node unready and ends its event streams, whose pages go on at other nodes. Calling it twice is safe.
func (g *Gate) Drain() { g.drain.Do(func() { close(g.draining) }) }

// Streams is how many event streams are open.
func (g *Gate) Streams() int64 { return g.streams.Load() }

// nowMS is the store's clock.
func (g *Gate) nowMS() int64 { return g.Clock.Now().UnixMilli() }

// storeFailed says in the log that a call of the store failed, at most once a second: the outage itself is reported by
// who watches the store.
func (g *Gate) storeFailed(ctx context.Context, what string, item queue.Item, err error) {
	now := time.Now().Unix()
	if last := g.logged.Load(); last == now || !g.logged.CompareAndSwap(last, now) {
		return
	}
	g.Log.WarnContext(ctx, "store call failed", "call", what, "item", string(item), "err", err)
}

// site is what --public-url and --cookie-domain say.
type site struct {
	url    string // without a slash at the end
	origin queue.Origin
	host   string
	path   string // of the address, without a slash at the end
	domain string // of cookies
	cookie string // the attributes of every cookie, without Max-Age
}

func newSite(public, domain string) (site, error) {
	u, err := url.Parse(public)
	origin, _, ok := queue.ParseOrigin(public)
	if err != nil || !ok || u.RawQuery != "" || u.Fragment != "" {
		return site{}, errors.New("gate: the public URL must be an http or https address without query")
	}
	s := site{origin: origin, host: origin.Host(), path: strings.TrimRight(u.EscapedPath(), "/"), domain: strings.TrimPrefix(domain, ".")}
	s.url = string(s.origin) + s.path
	s.cookie = "; Path=/; HttpOnly; SameSite=Lax"
	if u.Scheme == "https" {
		s.cookie += "; Secure"
	}
	if s.domain != "" {
		if strings.ContainsAny(s.domain, "; ,\r\n\t=") {
			return site{}, errors.New("gate: the cookie domain is not a host name")
		}
		s.cookie += "; Domain=" + s.domain
	}
	return s, nil
}

// foreign reports whether an address leads to a host that the cookies of this one do not reach.
func (s site) foreign(address string) bool {
	origin, _, ok := queue.ParseOrigin(address)
	if !ok {
		return false // a path
	}
	host := origin.Host()
	return host != s.host && (s.domain == "" || host != s.domain && !strings.HasSuffix(host, "."+s.domain))
}
