package page_test

import (
	"net/url"
	"testing"

	"github.com/sluicehq/sluice/internal/browsertest"
	"github.com/sluicehq/sluice/internal/sitetest"
)

// In a real browser: the place is the same over reloads, and the page goes on by itself when the line moves.
func TestThePageGoesOnByItself(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, "")
	s.Call("PATCH", "/policies/sku-1", quick)
	s.On("sku-1", 0)
	p := browsertest.Open(t, browsertest.Options{})
	for range 3 {
		p.Go(s.Sluice + "/wait/sku-1?return=" + url.QueryEscape("/openapi.json"))
		if got := p.Text("#number"); got != "1" {
			t.Errorf("place %s", got)
		}
	}
	s.On("sku-1", 10)
	p.Eventually(`location.pathname === "/openapi.json"`)
}
