package pass

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// freshFor is how old a pass may be that comes in an address: a link with one that is passed on is of no use for long.
const freshFor = time.Minute

// guest is one request and what is found out about it.
type guest struct {
	m    *Middleware
	w    http.ResponseWriter
	r    *http.Request
	item string
	now  time.Time

	unknown string  // a pass whose key is not known here; Sluice may know it
	claims  *Claims // of the valid pass
	token   string  // the valid pass as it was shown
	private bool    // the answer sets a cookie
}

// arrives takes the pass out of the address and into a cookie, at a page without an item too: it reports whether that was
// answered by a redirect to the address without it.
func (g *guest) arrives() bool {
	token, rest, found := takeParam(g.r.URL.RawQuery)
	if !found {
		return false
	}
	c, err := g.m.keys.verify(g.r.Context(), token, g.item)
	if age := g.now.Sub(c.IssuedAt); err == nil && age <= freshFor {
		g.keep(token, &c)
	}
	if g.r.Method != http.MethodGet && g.r.Method != http.MethodHead {
		g.r = withQuery(g.r, rest) // a form that is sent goes on; its answer sets the cookie
		return false
	}
	g.answer(http.StatusFound, pathOf(g.r, rest))
	return true
}

// shows finds a valid pass: the one that just came in the address, in the header, or in this site's cookie.
func (g *guest) shows() bool {
	if g.claims != nil {
		return true
	}
	tokens := g.r.Header["Sluice-Pass"]
	headers := len(tokens)
	name := CookieName(g.item)
	for _, c := range g.r.CookiesNamed(name) {
		tokens = append(tokens[:len(tokens):len(tokens)], c.Value)
	}
	for i, token := range tokens {
		c, err := g.m.keys.verify(g.r.Context(), token, g.item)
		if errors.Is(err, ErrUnknownKey) {
			g.unknown = token
		}
		if err != nil {
			continue
		}
		fresh, ended := g.m.renewals.of(token, &c, g.now)
		if ended {
			continue
		}
		g.claims, g.token = &c, token
		if fresh != "" && i < headers {
			g.w.Header().Set("Sluice-Pass", fresh)
		} else if fresh != "" {
			if c, err := g.m.keys.verify(g.r.Context(), fresh, g.item); err == nil {
				g.keep(fresh, &c)
			}
		}
		return true
	}
	return false
}

// keep puts a pass into this site's cookie.
func (g *guest) keep(token string, c *Claims) {
	if g.claims, g.private = c, true; g.token == "" {
		g.token = token
	}
	http.SetCookie(g.w, &http.Cookie{
		Name: CookieName(c.Item), Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: secure(&g.m.o, g.r), MaxAge: max(1, int(c.ExpiresAt.Sub(g.now)/time.Second)),
	})
}

// asks asks Sluice and does what it says.
func (g *guest) asks() (next *http.Request, private bool) {
	m := g.m
	v, err := m.service.check(g)
	var no *refusal
	switch {
	case errors.Is(err, errItem):
		m.counts.add(Refused)
		m.service.warn("Item gave a name that Sluice does not take", "item", g.item)
		g.answer(http.StatusBadRequest, "")
		return nil, false
	case errors.As(err, &no):
		m.counts.add(Refused)
		if no.retryAfter != "" {
			g.w.Header().Set("Retry-After", no.retryAfter)
		}
		g.answer(no.status, "")
		return nil, false
	case err != nil && g.r.Context().Err() != nil:
		return nil, false // the visitor has gone
	case err != nil && m.o.FailOpen:
		m.counts.add(FailedOpen)
		return g.goesOn(), false
	case err != nil:
		m.counts.add(FailedClosed)
		g.w.Header().Set("Retry-After", "5")
		g.answer(http.StatusServiceUnavailable, "")
		return nil, false
	}
	for _, line := range v.cookies { // Sluice's own cookie, which says here who the visitor is
		g.w.Header().Add("Set-Cookie", line)
		g.private = true
	}
	if v.Action == "pass" {
		m.counts.add(Passed)
		if v.Pass != nil {
			if c, err := m.keys.verify(g.r.Context(), v.Pass.Token, g.item); err == nil {
				g.keep(v.Pass.Token, &c)
			}
		}
		return g.goesOn(), g.private
	}
	if v.Action == "wait" {
		m.counts.add(Waiting)
	} else {
		m.counts.add(Rejected)
	}
	h := g.w.Header()
	h.Set("Sluice-Action", v.Action)
	h.Set("Sluice-Reason", v.Reason)
	asset, _ := Asset(g.r)
	switch {
	case asset:
		g.answer(http.StatusUnauthorized, "")
	case Fetch(g.r):
		g.answer(http.StatusUnauthorized, v.waitURL)
	case g.r.Method == http.MethodGet || g.r.Method == http.MethodHead:
		g.answer(http.StatusFound, v.waitURL)
	default:
		g.answer(http.StatusSeeOther, v.waitURL)
	}
	return nil, false
}

// goesOn is the request for the handler behind.
func (g *guest) goesOn() *http.Request {
	if g.claims == nil {
		return g.r
	}
	next := g.r.WithContext(context.WithValue(g.r.Context(), insideKey{}, &inside{*g.claims, g.token}))
	return traced(next, g.claims, g.m.o.TraceShare)
}

// answer ends a request here.
func (g *guest) answer(status int, location string) {
	h := g.w.Header()
	h.Set("Cache-Control", "no-store")
	if location != "" {
		h.Set("Location", location)
		h.Set("Referrer-Policy", "no-referrer") // the address that brought a pass tells nobody of it
	}
	if asset, _ := Asset(g.r); status < 400 || asset {
		g.w.WriteHeader(status)
		return
	}
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	g.w.WriteHeader(status)
	if text := texts[status]; g.r.Method != http.MethodHead {
		_, _ = g.w.Write([]byte(text))
	}
}

var texts = map[int]string{
	http.StatusBadRequest:         "There is no item of this name, or the request is none.\n",
	http.StatusUnauthorized:       "This needs a pass: wait in line at the address in Location.\n",
	http.StatusTooManyRequests:    "Too many requests. Please try again later.\n",
	http.StatusServiceUnavailable: "Too busy at the moment. Please try again in a few seconds.\n",
}
