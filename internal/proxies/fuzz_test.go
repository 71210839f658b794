package proxies

import (
	"net/http/httptest"
	"net/netip"
	"testing"
)

// FuzzClient: what strangers write is not believed, and what a trusted proxy hands on is an address or the proxy itself.
func FuzzClient(f *testing.F) {
	for _, s := range []string{"127.0.0.1", "10.0.0.1, 198.51.100.4", "::1", "[::1]:80", ",,,", "fe80::1%eth0", "unknown", "\x00"} {
		f.Add(s)
	}
	trusted := Trusted{netip.MustParsePrefix("10.0.0.0/8")}
	f.Fuzz(func(t *testing.T, forwarded string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header["X-Forwarded-For"] = []string{forwarded}
		r.RemoteAddr = "198.51.100.9:1"
		if got := trusted.Client(r); got != "198.51.100.9" {
			t.Errorf("%q from a stranger: %q", forwarded, got)
		}
		r.RemoteAddr = "10.0.0.9:1"
		got := trusted.Client(r)
		if _, err := netip.ParseAddr(got); err != nil {
			t.Errorf("%q gives %q: %v", forwarded, got, err)
		}
		if block := Block(got); Block(block) == "" {
			t.Errorf("%q has block %q", got, block)
		}
	})
}
