// Package proxies tells who is at the other end of a request: the peer, or, where the peer is a proxy that is trusted
// (--trusted-proxies), whom the proxy names.
package proxies

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Trusted are the networks whose X-Forwarded-* is believed. The zero value believes none.
type Trusted []netip.Prefix

// Trust reports whether the request comes straight from a trusted proxy. A peer on a unix socket is on this machine.
func (t Trusted) Trust(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr == "" || r.RemoteAddr == "@"
	}
	return t.has(peer.Addr())
}

func (t Trusted) has(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	for _, p := range t {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// Client gives the address that a request comes from: the peer's, or with trusted proxies in between the last one in
// X-Forwarded-For that none of them is. What stands before it anybody may have written.
func (t Trusted) Client(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	if !t.Trust(r) {
		return host
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		addr, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break // whoever wrote this is not to be believed about the rest
		}
		host = addr.Unmap().String()
		if !t.has(addr) {
			break
		}
	}
	return host
}

// Block is the part of an address that one subscriber has, for limits: the address itself, or of IPv6 its /64.
func Block(address string) string {
	addr, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	if addr = addr.Unmap().WithZone(""); addr.Is4() {
		return addr.String()
	}
	p, err := addr.Prefix(64)
	if err != nil {
		return address
	}
	return p.String()
}
