package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"github.com/sluicehq/sluice/internal/fault"
)

// ErrTarget is an address to which no webhook may lead.
var ErrTarget = fault.New("webhook_target", "The url is not one that webhooks may be sent to.")

// mostURL is the longest address, in bytes.
const mostURL = 2048

// Targets says where webhooks may lead: to public addresses, and to the networks that the operator of the nodes allows.
// Nobody who may register a webhook shall reach what is beside the nodes: loopback, private and link-local networks,
// the metadata service of a cloud.
type Targets struct {
	guard   *ssrf.Guardian
	resolve func(ctx context.Context, host string) ([]netip.Addr, error)
}

// NewTargets allows public addresses, and beside them these networks.
func NewTargets(allowed []netip.Prefix) *Targets {
	var v4, v6 []netip.Prefix
	for _, p := range allowed {
		if p.Addr().Is4() {
			v4 = append(v4, p)
		} else {
			v6 = append(v6, p)
		}
	}
	return &Targets{
		guard: ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...)),
		resolve: func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		},
	}
}

// Check gives nil, or ErrTarget with what is wrong with an address: when a webhook is registered, so that whoever types
// it is told. What the name leads to later is looked at again whenever a connection is made.
func (t *Targets) Check(ctx context.Context, raw string) error {
	u, err := parse(raw)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	addrs := []netip.Addr{}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil {
		addrs = append(addrs, a)
	} else if addrs, err = t.resolve(ctx, u.Hostname()); err != nil || len(addrs) == 0 {
		return ErrTarget.With("The host of the url cannot be found by its name.")
	}
	for _, a := range addrs {
		if t.guard.SafeAddr(a.Unmap()) != nil || a.Zone() != "" {
			return ErrTarget.With("The url leads to an address that is not public, and --webhook-allow-private does not list it.")
		}
	}
	return nil
}

// parse reads an address and checks its form.
func parse(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || len(raw) > mostURL || strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return nil, ErrTarget.With("url must be an address of at most 2048 bytes, without spaces.")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, ErrTarget.With("url must begin with https:// or http://.")
	case u.Hostname() == "" || u.Opaque != "":
		return nil, ErrTarget.With("url must name a host.")
	case u.User != nil:
		return nil, ErrTarget.With("url must hold no user name and no password; requests are signed.")
	case u.Fragment != "":
		return nil, ErrTarget.With("url must have no part after #.")
	case odd(u.Hostname()):
		return nil, ErrTarget.With("The host of the url must be a name, or an address in its usual form.")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, ErrTarget.With("The port of the url must be from 1 to 65535.")
		}
	}
	return u, nil
}

// odd reports whether a host looks like an IPv4 address and is none in its usual form: 0177.0.0.1, 2130706433, 127.1.
// Some resolvers take such for addresses. https://url.spec.whatwg.org/#ends-in-a-number-checker
func odd(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	last := labels[len(labels)-1]
	if _, err := strconv.ParseUint(last, 10, 64); err == nil {
		return true
	}
	if hex, ok := strings.CutPrefix(strings.ToLower(last), "0x"); ok {
		_, err := strconv.ParseUint("0"+hex, 16, 64)
		return err == nil
	}
	return strings.Trim(last, "0123456789") == ""
}

// control refuses a connection to an address that is not allowed. The dialer calls it with what the name has led to.
func (t *Targets) control(network, address string, c syscall.RawConn) error {
	if err := t.guard.Safe(network, address, c); err != nil {
		return fmt.Errorf("%w: %w", errNotPublic, err)
	}
	return nil
}

var errNotPublic = errors.New("the address is not public")
