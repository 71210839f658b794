// Package secreturl takes apart addresses that may hold a password. It refuses what can be read in two ways, and its
// errors never show any part of the address.
package secreturl

import (
	"errors"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// URL is an address taken apart. Everything is decoded.
type URL struct {
	Scheme         string
	User, Password string
	Hosts          []string // host:port as written, at least one unless Path is all there is
	Path           string   // with its leading slash; "" = none
	Query          map[string]string
}

// errors of Parse. None of them quotes the address: a wrongly written one has the password in a place of its own choice.
var (
	errScheme   = errors.New("is not an address of the form scheme://host")
	errControl  = errors.New("has a space or a control character in it")
	errFragment = errors.New("has a # in it: write it as %23 where it belongs to the password")
	errAt       = errors.New("has more than one @ in it, or one after the host: write it as %40 where it belongs to the password")
	errEscape   = errors.New("has a % that is not followed by two hex digits: write it as %25 where it belongs to the password")
	errHost     = errors.New("has a host or a port that cannot be: write / as %2F, : as %3A and ? as %3F where they belong to the password")
	errQuery    = errors.New("has a query that is not name=value: write ? as %3F where it belongs to the password")
)

// validScheme is the form of a scheme in RFC 3986, section 3.1.
var validScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)

// Parse takes raw apart. User, password, path and the query's values are percent-decoded; a + stays a +. Raw characters
// that end a part early (@ / ? # :) are refused wherever that can be told.
func Parse(raw string) (URL, error) {
	var u URL
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return u, errControl
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok || !validScheme.MatchString(scheme) {
		return u, errScheme
	}
	u.Scheme = strings.ToLower(scheme)
	if strings.Contains(rest, "#") {
		return u, errFragment
	}
	rest, query, _ := strings.Cut(rest, "?")
	authority, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if strings.Count(authority, "@") > 1 || strings.Contains(path, "@") {
		return u, errAt
	}
	var err error
	if info, hosts, found := strings.Cut(authority, "@"); found {
		authority = hosts
		user, password, _ := strings.Cut(info, ":")
		if u.User, err = unescape(user); err != nil {
			return u, err
		}
		if u.Password, err = unescape(password); err != nil {
			return u, err
		}
	}
	if u.Path, err = unescape(path); err != nil {
		return u, err
	}
	if authority != "" {
		u.Hosts = strings.Split(authority, ",")
	}
	for _, h := range u.Hosts {
		if !validHost(h) {
			return u, errHost
		}
	}
	u.Query, err = parseQuery(query)
	return u, err
}

func parseQuery(s string) (map[string]string, error) {
	q := map[string]string{}
	if s == "" {
		return q, nil
	}
	for _, pair := range strings.Split(s, "&") {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, errQuery
		}
		v, err := unescape(value)
		if err != nil {
			return nil, err
		}
		if _, twice := q[name]; twice {
			return nil, errQuery
		}
		q[name] = v
	}
	return q, nil
}

// unescape decodes %XX; unlike a form's, a + is a plus.
func unescape(s string) (string, error) {
	v, err := url.PathUnescape(s)
	if err != nil {
		return "", errEscape // url's own error quotes the text
	}
	return v, nil
}

func validHost(hostport string) bool {
	host, port := hostport, ""
	if i := strings.LastIndexByte(hostport, ':'); i >= 0 && !strings.HasSuffix(hostport, "]") {
		var err error
		if host, port, err = net.SplitHostPort(hostport); err != nil {
			return false
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return false
		}
	}
	if b, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(b, "]")
	}
	if host == "" || len(host) > 253 {
		return false
	}
	if net.ParseIP(host) != nil {
		return true
	}
	return !strings.ContainsFunc(host, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_')
	})
}
