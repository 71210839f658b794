package queue_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/queue"
)

func TestAnOriginHasOneForm(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]queue.Origin{
		"https://shop.example":               "https://shop.example",
		"https://shop.example:443":           "https://shop.example",
		"https://shop.example:0443":          "https://shop.example",
		"http://shop.example:80":             "http://shop.example",
		"http://shop.example:443":            "http://shop.example:443",
		"https://shop.example:80":            "https://shop.example:80",
		"HTTPS://Shop.EXAMPLE:8443":          "https://shop.example:8443",
		"https://bücher.example":             "https://xn--bcher-kva.example",
		"https://BÜCHER.example:443":         "https://xn--bcher-kva.example",
		"https://xn--bcher-kva.example":      "https://xn--bcher-kva.example",
		"https://faß.example":                "https://xn--fa-hia.example",
		"https://쇼핑.한국":                      "https://xn--hp4bo76a.xn--3e0b707e",
		"https://ｓｈｏｐ。example":               "https://shop.example",
		"https://[2001:DB8:0:0:0:0:0:1]":     "https://[2001:db8::1]",
		"https://[::1]:443":                  "https://[::1]",
		"http://[::ffff:192.0.2.1]:8080":     "http://[::ffff:c000:201]:8080",
		"http://127.0.0.1:3000":              "http://127.0.0.1:3000",
		"http://localhost":                   "http://localhost",
		"http://my_host.internal":            "http://my_host.internal",
		"https://r3---sn-apo3qvuoxuxbt.host": "https://r3---sn-apo3qvuoxuxbt.host",
		"https://shop.example.":              "https://shop.example.",
	} {
		got, rest, ok := queue.ParseOrigin(given)
		if !ok || got != want || rest != "" {
			t.Errorf("%s is %q %q %v, want %s", given, got, rest, ok, want)
		}
		if got, rest, ok := queue.ParseOrigin(given + "/a//b?c#d"); !ok || got != want || rest != "/a//b?c#d" {
			t.Errorf("%s with a path is %q %q %v", given, got, rest, ok)
		}
		p := queue.DefaultPolicy()
		raw, _ := json.Marshal(given)
		if err := json.Unmarshal([]byte(`{"return_origins":[`+string(raw)+`],"allowed_origins":[`+string(raw)+`]}`), &p); err != nil {
			t.Fatal(err)
		}
		if err := p.Validate(); err != nil || p.ReturnOrigins[0] != want || p.AllowedOrigins[0] != want {
			t.Errorf("a policy with %s: %v, %s and %s", given, err, p.ReturnOrigins, p.AllowedOrigins)
		}
		if given != string(want) {
			// Set by other means, what would never match is refused.
			refuses(t, given, "return_origins", func(p *queue.Policy) { p.ReturnOrigins = []queue.Origin{queue.Origin(given)} })
		}
	}
	if host := queue.Origin("https://[2001:db8::1]:8443").Host(); host != "2001:db8::1" {
		t.Errorf("host %q", host)
	}
}

func TestWhatIsNoOrigin(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "shop.example", "//shop.example", "ftp://shop.example", "https://", "https:///x", "https://:443", "https://shop.example:",
		"https://shop.example:0", "https://shop.example:65536", "https://shop.example:port", "https://shop.example:-1", "https://a:1:2",
		"https://user@shop.example", "https://shop.example%2f", `https://shop.example\x`, "https://a b.example", "https://shop..example",
		"https://.example", "https://0x7f.1", "https://127.1", "https://1", "https://256.0.0.1", "https://127.0.0.1.", "https://[::1", "https://::1",
		"https://[fe80::1%25eth0]", "https://[1.2.3.4]", "https://shop.example\n", "https://shop.example／x", "https://shop．example＠evil.example",
		"https://" + strings.Repeat("a", 64) + ".example", "https://" + strings.Repeat("a.", 126) + "example", "https://\xff.example", "https://a\u200d.example",
	} {
		if o, rest, ok := queue.ParseOrigin(s); ok {
			t.Errorf("%q is %q and %q", s, o, rest)
		}
		p := queue.DefaultPolicy()
		p.AllowedOrigins = make([]queue.Origin, 1)
		_ = p.AllowedOrigins[0].UnmarshalText([]byte(s))
		if p.Validate() == nil {
			t.Errorf("a policy takes %q", s)
		}
	}
}

func FuzzOrigin(f *testing.F) {
	for _, s := range []string{"https://shop.example:443/x", "http://[::1]:80", "https://bücher.example", "https://ｓhop。example", "https://0x7f.1", "https://a@b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o, rest, ok := queue.ParseOrigin(s)
		if !ok {
			return
		}
		again, none, ok := queue.ParseOrigin(string(o))
		if !ok || again != o || none != "" {
			t.Errorf("%q is %q, and that is %q %v", s, o, again, ok)
		}
		u, err := url.Parse(string(o) + "/")
		if err != nil || u.Scheme+"://"+u.Host != string(o) || u.Path != "/" || u.User != nil || u.Hostname() != o.Host() {
			t.Errorf("%q is %q, which others read as %v: %v", s, o, u, err)
		}
		if !strings.HasSuffix(s, rest) {
			t.Errorf("%q ends not in %q", s, rest)
		}
	})
}
