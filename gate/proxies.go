package gate

import (
	"fmt"
	"net/http"
	"net/netip"
)

// proxies are the networks whose X-Forwarded-* is believed.
type proxies []netip.Prefix

// parseProxies reads networks (10.0.0.0/8) and single addresses.
func parseProxies(texts []string) (proxies, error) {
	var ps proxies
	for _, s := range texts {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			a, errAddr := netip.ParseAddr(s)
			if errAddr != nil {
				return nil, fmt.Errorf("gate: trusted proxy %q: not a network or an address", s)
			}
			p = netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen())
		}
		ps = append(ps, p.Masked())
	}
	return ps, nil
}

// trusts reports whether the request comes straight from a trusted proxy. A peer on a unix socket is on this machine.
func (ps proxies) trusts(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr == "" || r.RemoteAddr == "@"
	}
	addr := peer.Addr().Unmap().WithZone("")
	for _, p := range ps {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}
