package pass

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options says how an origin is guarded. Service and Item are required.
type Options struct {
	// Service is the public URL of Sluice, as in https://queue.example: what its passes name as their issuer, and where
	// visitors wait.
	Service string
	// Item says which item a request is for; "" = none, and it goes on unasked. Images, scripts and styles need none.
	Item func(*http.Request) string
	// Reach is where Sluice is reached from here, where that is not its public URL.
	Reach string
	// Site is this site as browsers see it, as in https://shop.example; "" = what the request says: its Host, and https
	// with TLS or where X-Forwarded-Proto says so.
	Site string
	// FailOpen decides for those without a valid pass while Sluice cannot be reached: true lets them in, false answers
	// 503. A valid pass is verified offline and good in either case.
	FailOpen bool
	// TraceShare is the share of the waits that are traced, 0 to 1, as nodes have it by --trace-sample-ratio. A request
	// that goes on by a pass of such a wait, and has no trace of its own, gets the header traceparent, so that what the
	// origin traces of it is in one trace with the wait. 0 = requests go on as they came.
	TraceShare float64
	// Timeout of a call of Sluice; 0 = 1 s.
	Timeout time.Duration
	// Transport for calls of Sluice; nil = one of its own.
	Transport http.RoundTripper
	Log       *slog.Logger     // nil = slog.Default
	Now       func() time.Time // nil = time.Now
}

// Middleware guards an origin: who shows a valid pass goes on, without a call of anybody; everybody else goes where
// Sluice says. It is safe for use by many goroutines, and needs no end.
type Middleware struct {
	o        Options
	keys     *keySource
	service  *service
	renewals *renewals
	counts   counts
}

// NewMiddleware checks the options; the error names the one that is wrong.
func NewMiddleware(o Options) (*Middleware, error) {
	if err := address("Service", &o.Service, true); err != nil {
		return nil, err
	}
	if err := address("Reach", &o.Reach, false); err != nil {
		return nil, err
	}
	if err := address("Site", &o.Site, false); err != nil {
		return nil, err
	}
	if o.Item == nil {
		return nil, errors.New("pass: Item is missing: it says which item a request is for")
	}
	if !(o.TraceShare >= 0 && o.TraceShare <= 1) { // nor NaN
		return nil, fmt.Errorf("pass: TraceShare is %v, must be 0 to 1", o.TraceShare)
	}
	if o.Timeout < 0 {
		return nil, fmt.Errorf("pass: Timeout is %v, must be 0 (1 s) or more", o.Timeout)
	}
	if o.Timeout == 0 {
		o.Timeout = time.Second
	}
	if o.Reach == "" {
		o.Reach = o.Service
	}
	if o.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = 100
		o.Transport = t
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	m := &Middleware{o: o}
	m.service = &service{o: &m.o, counts: &m.counts, client: &http.Client{
		Transport: o.Transport, Timeout: o.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	m.keys = &keySource{service: m.service, cache: NewCache(10_000)}
	m.renewals = &renewals{service: m.service, known: map[string]renewal{}}
	return m, nil
}

// address checks the URL of a site and takes the slash at its end off.
func address(field string, value *string, required bool) error {
	if *value == "" && !required {
		return nil
	}
	u, err := url.Parse(*value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("pass: %s is %q, must be an address like https://queue.example", field, *value)
	}
	*value = strings.TrimRight(*value, "/")
	return nil
}

// Handler guards next.
func (m *Middleware) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		admitted, private := m.Admit(w, r)
		switch {
		case admitted == nil:
		case private:
			next.ServeHTTP(&privateWriter{ResponseWriter: w}, admitted)
		default:
			next.ServeHTTP(w, admitted)
		}
	})
}

// Admit decides about one request. It gives the request to go on with, or nil where it has answered. private says that
// the answer sets a cookie of this visitor, so no shared cache may keep it.
func (m *Middleware) Admit(w http.ResponseWriter, r *http.Request) (next *http.Request, private bool) {
	g := &guest{m: m, w: w, r: r, item: m.o.Item(r), now: m.o.Now()}
	if r.Method == http.MethodOptions { // a preflight carries nothing that says who asks
		m.counts.add(Unasked)
		return r, false
	}
	if g.arrives() {
		return nil, false
	}
	if g.item == "" {
		m.counts.add(Unasked)
		return g.r, g.private
	}
	if g.shows() {
		m.counts.add(Verified)
		return g.goesOn(), g.private
	}
	return g.asks()
}

// inside is what handlers behind the middleware may ask about: the pass, and what it says.
type inside struct {
	claims Claims
	token  string
}

type insideKey struct{}

// FromContext gives what the pass of a request says, in handlers behind the middleware. false: it went on without one,
// as all do while the queue is off.
func FromContext(ctx context.Context) (Claims, bool) {
	in, ok := ctx.Value(insideKey{}).(*inside)
	if !ok {
		return Claims{}, false
	}
	return in.claims, true
}
