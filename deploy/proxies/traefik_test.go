package proxies_test

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/sluicehq/sluice/internal/sitetest"
)

// traefik is what the test reads of the file.
type traefik struct {
	HTTP struct {
		Routers map[string]struct {
			Rule        string
			Priority    int
			Service     string
			Middlewares []string
		}
		Middlewares map[string]struct {
			Headers *struct {
				CustomRequestHeaders map[string]string `yaml:"customRequestHeaders"`
			}
			ForwardAuth *struct {
				Address                  string
				TrustForwardHeader       bool     `yaml:"trustForwardHeader"`
				AuthResponseHeaders      []string `yaml:"authResponseHeaders"`
				AddAuthCookiesToResponse []string `yaml:"addAuthCookiesToResponse"`
			} `yaml:"forwardAuth"`
		}
		Services map[string]struct {
			LoadBalancer struct {
				Servers []struct{ URL string }
			} `yaml:"loadBalancer"`
		}
	}
}

// Traefik does not run here; its requests do, as its forwardAuth sends them: a GET with the visitor's headers, and method,
// scheme, host and address of its own saying.
func TestTheRequestsOfTraefik(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("traefik/sluice.yml")
	if err != nil {
		t.Fatal(err)
	}
	var c traefik
	if err := yaml.UnmarshalWithOptions(text, &c, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	for name, r := range c.HTTP.Routers {
		if c.HTTP.Services[r.Service].LoadBalancer.Servers == nil {
			t.Errorf("router %s: there is no service %s", name, r.Service)
		}
		for _, m := range r.Middlewares {
			if _, ok := c.HTTP.Middlewares[m]; !ok {
				t.Errorf("router %s: there is no middleware %s", name, m)
			}
		}
	}
	pages := c.HTTP.Routers["pages"].Middlewares
	auth := c.HTTP.Middlewares[pages[len(pages)-1]].ForwardAuth
	if auth.TrustForwardHeader {
		t.Error("it believes what visitors say of the address")
	}

	s := sitetest.New(t, "http://shop.example")
	address := strings.Replace(auth.Address, "http://127.0.0.1:8080", s.Sluice, 1)
	b := sitetest.Browser(nil)
	ask := func(method, uri string, headers ...string) *http.Response {
		t.Helper()
		said := map[string]string{
			"X-Forwarded-Method": method, "X-Forwarded-Proto": "http", "X-Forwarded-Host": "shop.example", "X-Forwarded-Uri": uri, "X-Forwarded-For": "203.0.113.7",
			"Sec-Fetch-Mode": "navigate", "X-Sluice-Item": "other", "X-Original-Uri": "/", "X-Original-Method": "OPTIONS",
		}
		for i := 0; i < len(headers); i += 2 {
			said[headers[i]] = headers[i+1]
		}
		for name, value := range c.HTTP.Middlewares["unsaid"].Headers.CustomRequestHeaders {
			if value == "" {
				delete(said, name)
			}
		}
		var list []string
		for name, value := range said {
			list = append(list, name, value)
		}
		resp, _ := sitetest.Get(t, b, address, list...)
		return resp
	}
	if resp := ask("GET", "/product/sku-1"); resp.StatusCode != 204 {
		t.Errorf("queue off: %d", resp.StatusCode)
	}
	b = sitetest.Browser(nil)
	s.On("sku-1", 0)
	for _, uri := range []string{"/product/sku-1?a=%2B", "//product/%73ku-1"} {
		resp := ask("GET", uri)
		for _, cookie := range resp.Cookies() {
			if !slices.Contains(auth.AddAuthCookiesToResponse, cookie.Name) {
				t.Errorf("%s: Traefik keeps the cookie %s from the visitor", uri, cookie.Name)
			}
		}
		if resp.StatusCode != 302 || !strings.HasPrefix(resp.Header.Get("Location"), "http://shop.example/wait/sku-1") {
			t.Errorf("%s: %d %s", uri, resp.StatusCode, resp.Header)
		}
	}
	if resp := ask("POST", "/product/sku-1", "Sec-Fetch-Mode", "cors"); resp.StatusCode != 401 {
		t.Errorf("a script: %d", resp.StatusCode)
	}
	// A preflight, which carries nothing that says who asks, is the shop's to answer; what a visitor says of the method is not.
	if resp := ask("OPTIONS", "/product/sku-1", "Sec-Fetch-Mode", "cors", "Origin", "https://shop.example", "Access-Control-Request-Method", "POST"); resp.StatusCode != 204 || len(resp.Cookies()) > 0 {
		t.Errorf("a preflight: %d %s", resp.StatusCode, resp.Header)
	}
	if resp := ask("GET", "/product/sku-1", "X-Original-Method", "OPTIONS", "X-Http-Method-Override", "OPTIONS"); resp.StatusCode != 302 {
		t.Errorf("a page that says it is a preflight: %d", resp.StatusCode)
	}
	if live := s.Call("GET", "/items/sku-1", ""); !strings.Contains(live, `"waiting":1`) {
		t.Errorf("more than one place: %s", live)
	}
	s.On("sku-1", 100)
	sitetest.Until(t, "let in", func() bool {
		resp := ask("GET", "/product/sku-1")
		for _, name := range auth.AuthResponseHeaders {
			if resp.Header.Get(name) == "" {
				return false
			}
		}
		return resp.StatusCode == 204
	})
	// What goes on to the shop is what is answered 2xx: nothing that is no pass.
	s.On("sku-7", 0)
	now := time.Now()
	b = sitetest.Browser(nil)
	if resp := ask("GET", "/product/sku-7", "Sluice-Pass", s.Pass("sku-7", now, time.Hour)); resp.StatusCode != 204 {
		t.Errorf("a pass that is good: %d", resp.StatusCode)
	}
	for name, token := range noPasses(s, "http://shop.example", now) {
		for way, headers := range shown(token) {
			b = sitetest.Browser(nil)
			if resp := ask("GET", "/product/sku-7", headers...); resp.StatusCode != 302 {
				t.Errorf("a pass that is %s, by %s: %d", name, way, resp.StatusCode)
			}
		}
		b = sitetest.Browser(nil)
		if resp := ask("GET", "/product/sku-7?sluice_pass="+token); resp.StatusCode != 302 {
			t.Errorf("a pass that is %s, in the address: %d", name, resp.StatusCode)
		}
		if resp := ask("POST", "/product/sku-7", "Sluice-Pass", token, "Sec-Fetch-Mode", "cors"); resp.StatusCode != 401 {
			t.Errorf("a pass that is %s, with a POST: %d", name, resp.StatusCode)
		}
	}
	if resp := ask("GET", "/cart"); resp.StatusCode != 204 || resp.Header.Get("Set-Cookie") != "" {
		t.Errorf("a page without an item: %d %s", resp.StatusCode, resp.Header)
	}
}
