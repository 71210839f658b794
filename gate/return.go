package gate

import (
	"slices"
	"strings"

	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/queue"
)

// ErrReturn refuses an address to send a visitor to.
var ErrReturn = fault.New("return_not_allowed", "The return address must be a path that begins with one / or an http(s) address of an origin that the item's policy allows.")

// maxReturn is the longest return address in bytes: what a proxy may forward of a long original address.
const maxReturn = 8192

// parseReturn checks an address as it stands after the query's own decoding; "" is none. It is a path on the site of
// the waiting page, or an http(s) address whose origin is in origins or is own. What browsers and parsers read in
// different ways (backslashes, control characters, user names, `//host`) is refused, and it is never decoded again. The
// address stays as it came, byte for byte; only a host name in letters beyond ASCII takes the form that was compared.
func parseReturn(raw string, own queue.Origin, origins []queue.Origin) (string, error) {
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
	origin, rest, ok := queue.ParseOrigin(raw)
	if !ok || origin != own && !slices.Contains(origins, origin) {
		return "", ErrReturn
	}
	for i := range len(raw) - len(rest) {
		if raw[i] >= 0x80 {
			return string(origin) + rest, nil
		}
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
