package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluicehq/sluice/internal/fault"
)

// private is every kind of address that is not public.
var private = []string{
	"127.0.0.1", "127.8.8.8", "::1", "0.0.0.0", "0.1.2.3", "::", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
	"169.254.169.254", "169.254.0.1", "fe80::1", "fd00:ec2::254", "fc00::1", "100.64.0.1", "100.127.255.255", "224.0.0.1", "239.1.2.3",
	"ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001::1", "255.255.255.255",
	"240.0.0.1", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "100::1", "fec0::1", "2001:db8::1",
}

// B146
func TestTargetsThatAreRefused(t *testing.T) {
	t.Parallel()
	all := []string{
		"", "/x", "hooks.example/x", "//hooks.example/", "file:///etc/passwd", "gopher://hooks.example/", "javascript:alert(1)", "ftp://hooks.example/",
		"data:text/plain,x", "http:hooks.example", "http:///x", "https://", "https://user@hooks.example/", "https://user:word@hooks.example/", "https://@127.0.0.1/",
		"http://0177.0.0.1/", "http://2130706433/", "http://127.1/", "http://0x7f.0.0.1/", "http://0x7f000001/", "http://127.0.0.1./", "http://0/",
		"http://[::1%25lo]/", "http://[fe80::1%25eth0]/", "http://hooks.example:0/", "http://hooks.example:99999/", "http://hooks.example:x/",
		"https://hooks.example/#part", "https://hooks.example/a b", "https://hooks.example/\x00", "https://hooks.example/" + strings.Repeat("a", 2048),
		"http://nowhere.example/", "http://inside.example/", "http://both.example/", "http://localhost/", "http://LOCALHOST:9090/metrics",
	}
	for _, a := range private {
		host := a
		if strings.Contains(a, ":") {
			host = "[" + a + "]"
		}
		all = append(all, "http://"+host+"/", "https://"+host+":8443/metrics")
	}
	targets := NewTargets(nil)
	targets.resolve = names(map[string][]string{
		"inside.example": {"10.1.2.3"}, "both.example": {"8.8.8.8", "127.0.0.1"}, "localhost": {"127.0.0.1", "::1"}, "LOCALHOST": {"127.0.0.1"},
		"hooks.example": {"8.8.8.8"},
	})
	for _, url := range all {
		err := targets.Check(t.Context(), url)
		if !errors.Is(err, ErrTarget) {
			t.Errorf("%q: %v", url, err)
		}
		var f *fault.Error
		if errors.As(err, &f) && (strings.Contains(f.Detail, "10.1.2.3") || strings.Contains(f.Detail, "127.0.0.1")) {
			t.Errorf("%q: the refusal tells what the name leads to: %s", url, f.Detail)
		}
	}
	for _, url := range []string{
		"https://hooks.example", "http://hooks.example:8080/a/b?c=d%20e&f=한글", "https://8.8.8.8/", "https://[2606:4700::1111]:8443/x", "HTTPS://hooks.example/",
	} {
		if err := targets.Check(t.Context(), url); err != nil {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// names is a resolver that knows these.
func names(of map[string][]string) func(context.Context, string) ([]netip.Addr, error) {
	return func(_ context.Context, host string) (all []netip.Addr, err error) {
		for _, a := range of[host] {
			all = append(all, netip.MustParseAddr(a))
		}
		if all == nil {
			err = &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
		return all, err
	}
}

func TestNetworksMayBeAllowed(t *testing.T) {
	t.Parallel()
	targets := NewTargets([]netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("::1/128")})
	for url, allowed := range map[string]bool{
		"http://10.1.2.3/": true, "http://[::1]:9/": true, "http://10.2.0.1/": false, "http://127.0.0.1/": false, "http://[fe80::1]/": false,
	} {
		if err := targets.Check(t.Context(), url); (err == nil) != allowed {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// B146: what a name led to when it was looked at says nothing of what it leads to now.
func TestAddressesAreCheckedWhenDialed(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		w.Write([]byte("secret"))
	}))
	defer inside.Close()
	_, port, _ := net.SplitHostPort(inside.Listener.Addr().String())
	s := NewSender(NewTargets(nil), nil, "test")
	defer s.Close()
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::1]", "0.0.0.0", "[::]"} {
		r := s.Send(t.Context(), fmt.Sprintf("http://%s:%s/", host, port), NewID(), []byte("{}"), []string{NewSecret()})
		if r.Taken() || r.Status != 0 || strings.ContainsAny(r.Error, "0123456789") {
			t.Errorf("%s: %+v", host, r)
		}
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("%d requests got inside", n)
	}
	targets := NewTargets(nil)
	for _, a := range private {
		if targets.control("tcp4", net.JoinHostPort(a, "80"), nil) == nil || targets.control("tcp6", net.JoinHostPort(a, "80"), nil) == nil {
			t.Errorf("%s may be dialed", a)
		}
	}
}
