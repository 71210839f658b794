package proxies

import (
	"net/http/httptest"
	"net/netip"
	"testing"
)

// B062: nobody but a trusted proxy is believed about where a request comes from.
func TestClient(t *testing.T) {
	t.Parallel()
	var trusted Trusted
	for _, network := range []string{"127.0.0.0/8", "::1/128", "10.0.0.0/8", "fd00::/8"} {
		trusted = append(trusted, netip.MustParsePrefix(network))
	}
	for _, c := range []struct {
		name, peer string
		forwarded  []string
		client     string
	}{
		{"a peer alone", "198.51.100.4:1234", nil, "198.51.100.4"},
		{"a peer that names itself another", "198.51.100.4:1234", []string{"127.0.0.1"}, "198.51.100.4"},
		{"a proxy that names nobody", "127.0.0.1:1", nil, "127.0.0.1"},
		{"a proxy that names its client", "127.0.0.1:1", []string{"203.0.113.9"}, "203.0.113.9"},
		{"a client that wrote the header before", "127.0.0.1:1", []string{"192.0.2.1, 203.0.113.9"}, "203.0.113.9"},
		{"in two lines", "127.0.0.1:1", []string{"192.0.2.1", "203.0.113.9"}, "203.0.113.9"},
		{"two proxies", "[::1]:1", []string{"192.0.2.1, 203.0.113.9, 10.1.2.3"}, "203.0.113.9"},
		{"proxies all the way", "127.0.0.1:1", []string{"10.0.0.1,10.0.0.2"}, "10.0.0.1"},
		{"nonsense before a proxy", "127.0.0.1:1", []string{"evil, 10.0.0.2"}, "10.0.0.2"},
		{"nonsense", "127.0.0.1:1", []string{"evil"}, "127.0.0.1"},
		{"IPv4 in IPv6", "[::ffff:127.0.0.1]:1", []string{"::ffff:203.0.113.9"}, "203.0.113.9"},
		{"a unix socket", "@", []string{"203.0.113.9"}, "203.0.113.9"},
		{"IPv6", "[2001:db8::7]:1", []string{"203.0.113.9"}, "2001:db8::7"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.peer
		for _, line := range c.forwarded {
			r.Header.Add("X-Forwarded-For", line)
		}
		if got := trusted.Client(r); got != c.client {
			t.Errorf("%s: %s, want %s", c.name, got, c.client)
		}
	}
}

func TestBlock(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{"203.0.113.9": "203.0.113.9", "::ffff:203.0.113.9": "203.0.113.9",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64", "@": "@"} {
		if got := Block(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}
