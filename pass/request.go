package pass

import (
	"net/http"
	"strings"
)

// Asset reports whether a request is for a part of a page, by what the browser says of it, and no page to wait for or to
// be led away from; and whether it is one that may be all that a visitor asks for during a long time, such as a film.
func Asset(r *http.Request) (asset, media bool) {
	switch first(r, "Sec-Fetch-Dest") {
	case "image", "script", "style", "font", "manifest":
		return true, false
	case "audio", "video", "track":
		return true, true
	}
	partial := first(r, "Range") != ""
	return partial, partial
}

// Fetch reports whether a request says that it comes from a script, which cannot follow a redirect to a page.
func Fetch(r *http.Request) bool {
	if mode := first(r, "Sec-Fetch-Mode"); mode != "" && mode != "navigate" {
		return true
	}
	return first(r, "X-Requested-With") != "" || WantsJSON(r)
}

// WantsJSON reports whether a request asks for JSON and not for a page.
func WantsJSON(r *http.Request) bool {
	accept := first(r, "Accept")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}

// first gives the first value of a header; name is canonical.
func first(r *http.Request, name string) string {
	if v := r.Header[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}
