package pass

import (
	"net/http"
	"strings"
)

// param is the query parameter that carries a pass to an origin of another site than Sluice's.
const param = "sluice_pass"

// CookieName is the name of the cookie that holds an item's pass. `:`, `@` and `~`, which may stand in an item's name
// and not in a cookie's, are written ~XX.
func CookieName(item string) string { return "sluice_pass_" + cookieSafe.Replace(item) }

var cookieSafe = strings.NewReplacer("~", "~7E", ":", "~3A", "@", "~40")

// takeParam takes the pass out of a query and leaves all else as it came, byte for byte. Of several the last counts:
// Sluice appends.
func takeParam(query string) (token, rest string, found bool) {
	if !strings.Contains(query, param) {
		return "", query, false
	}
	parts := strings.Split(query, "&")
	kept := parts[:0]
	for _, p := range parts {
		if value, ok := strings.CutPrefix(p, param+"="); ok {
			token, found = value, true
		} else {
			kept = append(kept, p)
		}
	}
	return token, strings.Join(kept, "&"), found
}

// withQuery is a request with another query.
func withQuery(r *http.Request, query string) *http.Request {
	c := r.Clone(r.Context())
	c.URL.RawQuery = query
	c.RequestURI = c.URL.RequestURI()
	return c
}

// pathOf is a request's address with another query, as a reference that cannot lead to another host: what begins with
// two slashes, or with what browsers read as two, would.
func pathOf(r *http.Request, query string) string {
	path := r.URL.EscapedPath()
	if path == "" || path[0] != '/' {
		path = "/" + path
	}
	if strings.HasPrefix(path, "//") || strings.HasPrefix(path, `/\`) {
		path = "/." + path
	}
	if query != "" {
		path += "?" + query
	}
	return path
}

// secure reports whether the browser asked by https.
func secure(o *Options, r *http.Request) bool {
	if o.Site != "" {
		return strings.HasPrefix(o.Site, "https:")
	}
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// siteOf is the site as the browser sees it.
func siteOf(o *Options, r *http.Request) string {
	switch {
	case o.Site != "":
		return o.Site
	case secure(o, r):
		return "https://" + r.Host
	default:
		return "http://" + r.Host
	}
}
