package gate

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/internal/ticket"
	"github.com/sluicehq/sluice/pass"
	"github.com/sluicehq/sluice/queue"
)

// What a request that names a user can be refused for.
var (
	ErrUserNeedsToken   = fault.New("user_needs_service_token", "Only a server with a valid service token may ask for its user.")
	ErrInvalidParameter = fault.New("invalid_parameter", "A query parameter is not valid.")
)

// The names of what visitors carry, in the canonical form of header maps.
const (
	visitorHeader = "Sluice-Visitor"
	ticketHeader  = "Sluice-Ticket"
	passHeader    = "Sluice-Pass"
	visitorCookie = "sluice_visitor"
)

// caller is who asks, as far as the request proves it.
type caller struct {
	visitor *ticket.Visitor
	token   string // the visitor token that the request brought, "" = none that verifies
	known   bool   // known from before, by whatever the request brought

	// headers: the caller identifies itself by headers (or by the page's own address) and gets no cookie.
	headers bool
	jar     *ticket.Jar // the cookie to be, nil where headers; visitor points into it
	cookies bool        // the request brought a cookie of ours that verifies

	ticket    ticket.Ticket // of this item and visitor; Place.Generation 0 = none
	pass      ticket.PassStub
	passToken string // the pass as it came, "" = from the cookie
	over      bool   // the pass that came has expired
	server    bool   // a server with a service token asks for its user
}

// id is the visitor's id.
func (w *caller) id() queue.Visitor { return w.visitor.ID }

// identify finds out who asks: a server for its user, a visitor known from before, or a new one. What does
// not verify is treated as absent. page: the address itself may say who asks, as that of the waiting page does where
// there are no cookies. The error is a refusal.
func (g *Gate) identify(r *http.Request, q *question, page bool) error {
	w := &q.caller
	q.who = w
	user, named, err := g.user(r)
	if err != nil {
		return err
	}
	if token := header(r, visitorHeader); token != "" {
		if g.Keys.ReadVisitor(&q.visitor, token, q.now) == nil {
			w.visitor, w.token = &q.visitor, token
		}
	}
	if named {
		// What the server sends back is its user's or nobody's; it tells the marks, and after a change of the secret key
		// also the id under which the user stands in line.
		if w.visitor != nil && !g.Keys.IsUser(w.visitor.ID, user) {
			w.visitor, w.token = nil, ""
		}
		if w.visitor == nil {
			w.visitor = ticket.NewVisitor(g.Keys.UserVisitor(user), q.nowMS)
		}
		w.server = true
	}
	w.headers = w.visitor != nil
	if w.visitor == nil {
		if w.jar = g.openJar(r, &q.jar, q.now); w.jar != nil {
			w.visitor, w.cookies = &w.jar.Visitor, true
		}
	}
	g.readPass(r, q)
	g.readTicket(r, q)
	if w.visitor == nil && page {
		g.readAddress(r, q)
	}
	if w.visitor != nil {
		w.known = true
	} else {
		w.visitor = ticket.NewVisitor(queue.NewVisitor(), q.nowMS)
	}
	if w.jar == nil && !w.headers {
		w.jar = ticket.NewJar(w.visitor)
		w.visitor = &w.jar.Visitor
	}
	if w.jar != nil {
		w.jar.Renew(q.nowMS)
	} else if w.visitor.Renew(q.nowMS) {
		w.token = ""
	}
	g.Traces.Visit(r, q.item, w.id(), g.lineOf(q))
	return nil
}

// lineOf is the generation in whose line the visitor of a question stands, has just stood, or is about to stand; 0 = none.
// One who has been inside for a while waits for nothing.
func (g *Gate) lineOf(q *question) queue.Generation {
	w := q.who
	if t := w.ticket.Place.Generation; t != 0 {
		return t
	}
	if w.pass.IssuedMS != 0 {
		if q.nowMS-w.pass.IssuedMS < min(q.limits.ClaimMS, 60_000) {
			return w.pass.Generation
		}
		return 0
	}
	if h := g.Board.Get(q.item); h.On() {
		return h.Generation
	}
	return 0
}

// user gives the user that a server asks for, if the request names one.
func (g *Gate) user(r *http.Request) (user string, named bool, err error) {
	if r.URL.RawQuery == "" {
		return "", false, nil
	}
	user, named, err = param(r, "user")
	if err != nil || !named {
		return "", false, err
	}
	token, ok := strings.CutPrefix(header(r, "Authorization"), "Bearer ")
	if !ok {
		return "", false, ErrUserNeedsToken
	}
	if _, ok := g.Settings.Now().ServiceToken(strings.TrimSpace(token)); !ok {
		return "", false, ErrUserNeedsToken
	}
	if user == "" || len(user) > 256 {
		return "", false, ErrInvalidParameter.With("user must be 1 to 256 bytes long.")
	}
	return user, true, nil
}

// readPass takes in the pass of the header or the cookie. Alone it stands for its own visitor.
func (g *Gate) readPass(r *http.Request, q *question) {
	w, item := q.who, q.item
	if token := header(r, passHeader); token != "" {
		c, err := g.keys.Load().verifier.Verify(token, string(item))
		v := queue.Visitor(c.Visitor)
		switch {
		case err != nil && !errors.Is(err, pass.ErrExpired):
			// As if it were not there.
		case c.Item != string(item):
		case w.visitor == nil:
			// One that has expired proves nothing but who asks: the session may go on all the same.
			if _, bad := queue.ParseVisitor(c.Visitor); bad != nil {
				return
			}
			w.visitor, w.headers = ticket.NewVisitor(v, q.nowMS), true
		case w.visitor.ID != v:
			return // with another visitor's token it is ignored
		}
		switch {
		case err == nil:
			w.pass, w.passToken = stubOf(c), token
			return
		case errors.Is(err, pass.ErrExpired):
			w.over = true
		}
	}
	if w.jar != nil {
		w.pass, _ = w.jar.Pass(item)
	}
}

// readTicket takes in the ticket of the header or the cookie, likewise.
func (g *Gate) readTicket(r *http.Request, q *question) {
	w, item := q.who, q.item
	if token := header(r, ticketHeader); token != "" {
		if t, err := g.Keys.OpenTicket(item, token, q.now); err == nil {
			if w.visitor == nil {
				w.visitor, w.headers = ticket.NewVisitor(t.Visitor, q.nowMS), true
			}
			if w.visitor.ID == t.Visitor {
				w.ticket = t
				return
			}
		}
	}
	if w.jar != nil {
		w.ticket, _ = w.jar.Ticket(item)
	}
}

// readAddress takes in what the waiting page's own address carries where there are no cookies.
func (g *Gate) readAddress(r *http.Request, q *question) {
	w, item := q.who, q.item
	token, named, err := param(r, "v")
	if err != nil || !named {
		return
	}
	v, err := g.Keys.OpenVisitor(token, q.now)
	if err != nil {
		return
	}
	w.visitor, w.token = v, token
	if token, named, err := param(r, "t"); err == nil && named {
		if t, err := g.Keys.OpenTicket(item, token, q.now); err == nil && t.Visitor == v.ID {
			w.ticket = t
		}
	}
}

// openJar reads the cookie into a jar, and gives it; nil where none verifies. Browsers may send two of one name (of the
// host and of the domain): of those that verify the one that was touched last, in whatever order they come.
func (g *Gate) openJar(r *http.Request, into *ticket.Jar, now time.Time) *ticket.Jar {
	var best *ticket.Jar
	for value := range cookies(r, visitorCookie) {
		if best == nil {
			if g.Keys.ReadJar(into, value, now) == nil {
				best = into
			}
			continue
		}
		other := new(ticket.Jar)
		if g.Keys.ReadJar(other, value, now) == nil && other.TouchedMS() > best.TouchedMS() {
			best = other
		}
	}
	return best
}

// header gives the first value of a header; name is canonical.
func header(r *http.Request, name string) string {
	if v := r.Header[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// cookies gives the values of the cookies of a name, without building all of them.
func cookies(r *http.Request, name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, line := range r.Header["Cookie"] {
			for part := range strings.SplitSeq(line, ";") {
				key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
				if ok && key == name && !yield(strings.Trim(value, `"`)) {
					return
				}
			}
		}
	}
}

// param gives a query parameter, decoded once; the first where it is there more than once. ErrInvalidParameter where it
// cannot be decoded.
func param(r *http.Request, name string) (value string, ok bool, err error) {
	for part := range strings.SplitSeq(r.URL.RawQuery, "&") {
		key, value, _ := strings.Cut(part, "=")
		if key != name {
			continue
		}
		v, err := url.QueryUnescape(value)
		if err != nil {
			return "", false, ErrInvalidParameter.With(name + " is not percent-encoded as it must be.")
		}
		return v, true, nil
	}
	return "", false, nil
}

// peeks reports whether a request only looks: it must not count, join, claim or set a cookie.
func peeks(r *http.Request) bool {
	if r.Method == http.MethodHead || r.Method == http.MethodOptions {
		return true
	}
	h := r.Header
	if _, ok := h["Next-Router-Prefetch"]; ok {
		return true
	}
	for _, name := range [...]string{"Sec-Purpose", "Purpose", "X-Moz"} {
		for _, v := range h[name] {
			if v = strings.ToLower(v); strings.Contains(v, "prefetch") || strings.Contains(v, "prerender") || strings.Contains(v, "preview") {
				return true
			}
		}
	}
	return false
}
