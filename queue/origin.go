package queue

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Origin is scheme://host[:port] of a web site (RFC 6454) in the one form in which origins are compared, which is that
// of the Origin header: lower case, names in their ASCII form (UTS #46), IPv6 addresses as short as they go and in
// brackets, the default port left out.
type Origin string

// ParseOrigin splits an absolute http or https address into its origin and what follows (path, query, fragment, as they
// stand). False for anything that browsers and parsers may read in different ways: user names, percent signs, blanks,
// numbers that may stand for IPv4 addresses.
func ParseOrigin(address string) (o Origin, rest string, ok bool) {
	scheme, rest, ok := strings.Cut(address, "://")
	scheme = strings.ToLower(scheme)
	if !ok || scheme != "http" && scheme != "https" {
		return "", "", false
	}
	authority := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority = rest[:i]
	}
	rest = rest[len(authority):]
	host, port, ok := splitPort(authority)
	if !ok {
		return "", "", false
	}
	if host, ok = canonicalHost(host); !ok {
		return "", "", false
	}
	if scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		port = ""
	}
	if port != "" {
		port = ":" + port
	}
	return Origin(scheme + "://" + host + port), rest, true
}

// Host is the name or address of the site, without brackets and port.
func (o Origin) Host() string {
	_, authority, _ := strings.Cut(string(o), "://")
	host, _, _ := splitPort(authority)
	return strings.Trim(host, "[]")
}

// UnmarshalText takes an origin into its one form. What is none stays as it is, for Policy.Validate to name.
func (o *Origin) UnmarshalText(b []byte) error {
	*o = Origin(b)
	if got, rest, ok := ParseOrigin(string(b)); ok && rest == "" {
		*o = got
	}
	return nil
}

// canonical reports whether the origin is one, in its one form.
func (o Origin) canonical() bool {
	got, rest, ok := ParseOrigin(string(o))
	return ok && rest == "" && got == o
}

// splitPort takes the port off, 1 to 65535 and without leading zeros; "" = none.
func splitPort(authority string) (host, port string, ok bool) {
	i := strings.LastIndexByte(authority, ':')
	if i < 0 || strings.HasSuffix(authority, "]") {
		return authority, "", true
	}
	n, err := strconv.ParseUint(authority[i+1:], 10, 16)
	if err != nil || n == 0 {
		return "", "", false
	}
	return authority[:i], strconv.FormatUint(n, 10), true
}

// maxHost is the longest name of a host (RFC 1035).
const maxHost = 253

// hosts maps names as browsers do before they look them up.
var hosts = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.Transitional(false), idna.StrictDomainName(true))

func canonicalHost(host string) (string, bool) {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		a, err := netip.ParseAddr(inner)
		if !ok || err != nil || !a.Is6() || a.Zone() != "" {
			return "", false
		}
		text := a.String()
		if a.Is4In6() { // which browsers write in hex
			b := a.As16()
			text = fmt.Sprintf("::ffff:%x:%x", uint16(b[12])<<8|uint16(b[13]), uint16(b[14])<<8|uint16(b[15]))
		}
		return "[" + text + "]", true
	}
	if len(host) > 4*maxHost {
		return "", false
	}
	if !ascii(host) {
		mapped, err := hosts.ToASCII(host)
		if err != nil || !utf8.ValidString(host) {
			return "", false
		}
		host = mapped
	}
	host = strings.ToLower(host)
	if len(host) > maxHost || !plainHost(host) {
		return "", false
	}
	return host, true
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// plainHost takes names of letters, digits, - and _ between single dots, and IPv4 addresses in their common form alone:
// browsers read 0x7f.1 as an address too.
func plainHost(host string) bool {
	last := ""
	for label := range strings.SplitSeq(strings.TrimSuffix(host, "."), ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for i := range len(label) {
			if c := label[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
		last = label
	}
	if '0' <= last[0] && last[0] <= '9' && (strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x")) {
		a, err := netip.ParseAddr(host)
		return err == nil && a.Is4()
	}
	return true
}
