package config_test

import (
	"strings"
	"testing"
)

// B170: a domain from which browsers would take no cookie is refused at the start, and not found out by visitors who loop.
func TestACookieDomainIsOneThatBrowsersTake(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ public, domain, want, refused string }{
		{"https://queue.shop.example", "", "", ""},
		{"https://queue.shop.example", "shop.example", "shop.example", ""},
		{"https://queue.shop.example", ".Shop.Example", "shop.example", ""},
		{"https://shop.example", "shop.example", "shop.example", ""},
		{"https://queue.shop.example", ".", "", "cookie-domain"},
		{"https://queue.shop.example", "..shop.example", "", "cookie-domain"},
		{"https://shop.com", "com", "", "public suffix"},
		{"https://shop.co.uk", "co.uk", "", "public suffix"},
		{"https://shop.github.io", "github.io", "", "public suffix"},
		{"http://localhost:8080", "localhost", "", "public suffix"},
		{"http://127.0.0.1:8080", "127.0.0.1", "", "address"},
		{"https://queue.shop.example", "other.example", "", "does not cover"},
		{"https://queue.shop.example", "hop.example", "", "does not cover"},
		{"https://shop.example", "queue.shop.example", "", "does not cover"},
	} {
		s, err := start(t, []string{"--public-url", c.public, "--cookie-domain=" + c.domain}, nil, "")
		if c.refused == "" && (err != nil || s.CookieDomain != c.want) {
			t.Errorf("%q at %s: %q, %v", c.domain, c.public, s.CookieDomain, err)
		}
		if c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused) || !strings.Contains(err.Error(), "cookie-domain")) {
			t.Errorf("%q at %s: %v, want an error that says %q", c.domain, c.public, err, c.refused)
		}
	}
}
