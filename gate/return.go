package gate

import (
	"net/url"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/internal/fault"
)

// ErrReturn refuses an address to send a visitor to.
var ErrReturn = fault.New("return_not_allowed", "The return address must be a path that begins with one / or an http(s) address of an origin that the item's policy allows.")

// maxReturn is the longest return address in bytes: what a proxy may forward of a long original address.
const maxReturn = 8192

// parseReturn checks an address as it stands after the query's own decoding; "" is none. It is a path on the site of
// the waiting page, or an http(s) address whose origin is in origins or is own. What browsers and parsers read in
// different ways (backslashes, control characters, user names, `//host`) is refused, and it is never decoded again.
func parseReturn(raw, own string, origins []string) (string, error) {
	if raw == "" {
		return "", nil
	}
	if len(raw) > maxReturn {
		return "", ErrReturn
	}
	for i := range len(raw) {
		if c := raw[i]; c < ' ' || c == 0x7f || c == '\\' {
			return "", ErrReturn
		}
	}
	if raw[0] == '/' {
		if strings.HasPrefix(flat(raw), "//") {
			return "", ErrReturn
		}
		return raw, nil
	}
	origin, ok := originOf(raw)
	if !ok || origin != own && !slices.Contains(origins, origin) {
		return "", ErrReturn
	}
	return raw, nil
}

// flat takes the leading dot segments off a path: browsers do, and what is left must not be `//host`.
func flat(path string) string {
	for {
		if rest, ok := strings.CutPrefix(path, "/./"); ok {
			path = "/" + rest
		} else if rest, ok := strings.CutPrefix(path, "/../"); ok {
			path = "/" + rest
		} else {
			return path
		}
	}
}

// originOf gives scheme://host[:port] of an absolute http(s) address in the form of policies: lower case, no default
// port. False for anything that is not plainly one.
func originOf(raw string) (string, bool) {
	scheme, rest, ok := strings.Cut(raw, "://")
	scheme = strings.ToLower(scheme)
	if !ok || scheme != "http" && scheme != "https" {
		return "", false
	}
	host := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host = rest[:i]
	}
	if host == "" {
		return "", false
	}
	for i := range len(host) {
		switch c := host[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte(".-:[]_", c) >= 0:
		default:
			return "", false // user names, percent signs, letters that only look like others
		}
	}
	if _, err := url.Parse(scheme + "://" + host); err != nil {
		return "", false
	}
	host = strings.ToLower(host)
	if port := map[string]string{"http": ":80", "https": ":443"}[scheme]; strings.HasSuffix(host, port) {
		host = strings.TrimSuffix(host, port)
	}
	return scheme + "://" + host, true
}

// location makes an address that parseReturn let through fit for a header: pure ASCII without blanks, nothing decoded.
func location(address string) string {
	plain := func(c byte) bool { return c > ' ' && c < 0x7f && strings.IndexByte("\"<>`{|}^", c) < 0 }
	i := 0
	for i < len(address) && plain(address[i]) {
		i++
	}
	if i == len(address) {
		return address
	}
	const hex = "0123456789ABCDEF"
	b := append(make([]byte, 0, len(address)+32), address[:i]...)
	for ; i < len(address); i++ {
		if c := address[i]; plain(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}

// passParam is the query parameter that carries a pass to an origin of another site.
const passParam = "sluice_pass"

// withPass appends the pass to an address, in the place of one that is there.
func withPass(address, token string) string {
	address, fragment, hasFragment := strings.Cut(address, "#")
	path, query, _ := strings.Cut(address, "?")
	var b strings.Builder
	b.WriteString(path)
	b.WriteByte('?')
	for part := range strings.SplitSeq(query, "&") {
		if part != "" && part != passParam && !strings.HasPrefix(part, passParam+"=") {
			b.WriteString(part)
			b.WriteByte('&')
		}
	}
	b.WriteString(passParam + "=" + token)
	if hasFragment {
		b.WriteString("#" + fragment)
	}
	return b.String()
}
