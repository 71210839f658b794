// Package edge tests the worker for the edge, in Node, against a real node.
package edge

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/sitetest"
	"github.com/sluicehq/sluice/internal/testprogram"
	"github.com/sluicehq/sluice/pass"
)

// edge is a site behind the worker.
type edge struct {
	*sitetest.Site
	url string // of the worker
}

func start(t *testing.T, env ...string) *edge {
	t.Helper()
	node := testprogram.Find(t, "node")
	e := &edge{Site: sitetest.New(t, "")}
	cmd := exec.CommandContext(context.Background(), node, "--no-warnings", "local.mjs")
	cmd.Env = append(os.Environ(), append([]string{"PORT=0", "SLUICE_URL=" + e.Sluice, "ORIGIN=" + e.Origin.URL, "ITEM_PATTERNS=" + strings.Join(sitetest.Patterns, ",")}, env...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	e.url = strings.TrimSpace(line)
	e.Call("PATCH", "/policies/*", `{"return_origins": ["`+e.url+`"]}`)
	return e
}

func browser() *http.Client { return sitetest.Browser(nil) }

func TestWithTheQueueOffEveryRequestReachesTheOrigin(t *testing.T) {
	t.Parallel()
	e := start(t)
	for _, path := range []string{"/product/sku-1?a=%2B", "/", "/style.css", "/sale"} {
		if resp, body := sitetest.Get(t, browser(), e.url+path); resp.StatusCode != 200 || body != "GET "+path+" " {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
	if _, body := sitetest.Do(t, browser(), "POST", e.url+"/product/sku-1", "order"); body != "POST /product/sku-1 order" {
		t.Errorf("a POST came as %s", body)
	}
}

func TestAVisitorLinesUpAndComesInWithAPass(t *testing.T) {
	t.Parallel()
	e := start(t)
	e.On("sku-1", 0)
	c := browser()
	page := e.url + "/product/SKU-1?a=1&b=%2B"
	resp, _ := sitetest.Get(t, c, page)
	wait := resp.Header.Get("Location")
	if resp.StatusCode != 302 || !strings.HasPrefix(wait, e.Sluice+"/wait/sku-1?return=") || resp.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("in line: %d %s", resp.StatusCode, resp.Header)
	}
	if n := len(e.Origin.Seen()); n != 0 {
		t.Fatalf("the origin saw %d requests", n)
	}
	// A call of a script is told, not redirected; another spelling is no way round.
	for path, headers := range map[string][]string{
		"/product/sku-1":       {"Sec-Fetch-Mode", "cors"},
		"//product/%73ku-1;x/": {"X-Requested-With", "XMLHttpRequest"},
	} {
		if resp, _ := sitetest.Get(t, c, e.url+path, headers...); resp.StatusCode != 401 || resp.Header.Get("Sluice-Action") != "wait" {
			t.Errorf("%s: %d %s", path, resp.StatusCode, resp.Header)
		}
	}
	e.On("sku-1", 100)
	back := ""
	sitetest.Until(t, "let in", func() bool {
		resp, _ := sitetest.Get(t, c, wait)
		back = resp.Header.Get("Location")
		return back != ""
	})
	if !strings.HasPrefix(back, e.url+"/product/SKU-1?a=1&b=%2B") {
		t.Fatalf("back at %q", back)
	}
	// The site and Sluice are two ports of one host here, so the cookie carries the pass.
	resp, body := sitetest.Get(t, c, back)
	if resp.StatusCode != 200 || body != "GET /product/SKU-1?a=1&b=%2B " || resp.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("with the pass: %d %s %s", resp.StatusCode, resp.Header, body)
	}
	kept := ""
	for _, cookie := range resp.Cookies() {
		if cookie.Name == "sluice_pass_sku-1" {
			kept = cookie.Value
		}
	}
	if kept == "" {
		t.Fatalf("no pass is kept: %v", resp.Header)
	}
	// From another site it comes in the address, and goes from there at once.
	other := browser()
	resp, _ = sitetest.Get(t, other, e.url+"/product/sku-1?x=1&sluice_pass="+kept+"&y=2")
	if resp.StatusCode != 302 || resp.Header.Get("Location") != e.url+"/product/sku-1?x=1&y=2" {
		t.Fatalf("with the pass in the address: %d %s", resp.StatusCode, resp.Header)
	}
	// Neither does what is none, however it is shown: the origin's own log says so. What the origin hears of passes comes from
	// the worker.
	e.On("sku-7", 0)
	now, good := time.Now(), e.Pass("sku-7", time.Now(), time.Hour)
	if resp, _ := sitetest.Get(t, browser(), e.url+"/product/sku-7", "Cookie", "sluice_pass_sku-7="+good); resp.StatusCode != 200 {
		t.Errorf("a pass that is good: %d", resp.StatusCode)
	}
	if seen := e.Origin.Seen(); seen[len(seen)-1].Header.Get("Sluice-Pass") != good {
		t.Errorf("the origin does not hear of the pass: %v", seen[len(seen)-1].Header)
	}
	for name, token := range map[string]string{
		"expired": e.Pass("sku-7", now.Add(-time.Hour), 30*time.Minute), "of the future": e.Pass("sku-7", now.Add(time.Hour), time.Hour),
		"of another item": e.Pass("sku-8", now, time.Hour), "tampered": good[:len(good)-4] + "AAAA", "unsigned": "eyJhbGciOiJub25lIn0." + strings.Split(good, ".")[1] + ".",
		"signed by a stranger": pass.NewKey([32]byte{9}).Sign(pass.Claims{Issuer: e.Sluice, Item: "sku-7", Visitor: "v", ID: "j", IssuedAt: now, ExpiresAt: now.Add(time.Hour), Generation: 1 << 60}),
	} {
		before := len(e.Origin.Seen())
		for way, headers := range map[string][]string{"header": {"Sluice-Pass", token}, "own cookie": {"Cookie", "sluice_pass_sku-7=" + token}, "Sluice's cookie": {"Cookie", "sluice_visitor=" + token}} {
			if resp, _ := sitetest.Get(t, browser(), e.url+"/product/sku-7", headers...); resp.StatusCode != 302 || len(e.Origin.Seen()) != before {
				t.Errorf("a pass that is %s, by %s: %d", name, way, resp.StatusCode)
			}
		}
		resp, _ := sitetest.Get(t, browser(), e.url+"/product/sku-7?sluice_pass="+token)
		if len(resp.Cookies()) != 0 || len(e.Origin.Seen()) != before {
			t.Errorf("a pass that is %s, in the address: %d %v", name, resp.StatusCode, resp.Header)
		}
	}
	sitetest.Get(t, browser(), e.url+"/cart", "Sluice-Pass", "made up")
	if seen := e.Origin.Seen(); seen[len(seen)-1].Header.Get("Sluice-Pass") != "" {
		t.Errorf("the origin is told what a visitor made up: %v", seen[len(seen)-1].Header)
	}
	e.StopSluice()
	for name, c := range map[string]struct {
		path   string
		cookie string
		status int
	}{
		"its own pass":      {"/product/sku-1", kept, 200},
		"of another item":   {"/product/sku-2", kept, 503},
		"a forged one":      {"/product/sku-1", kept[:len(kept)-2] + "AA", 503},
		"another algorithm": {"/product/sku-1", "eyJhbGciOiJub25lIn0." + strings.Split(kept, ".")[1] + ".", 503},
		"none":              {"/product/sku-1", "", 503},
	} {
		item := strings.TrimPrefix(c.path, "/product/")
		resp, _ := sitetest.Get(t, browser(), e.url+c.path, "Cookie", "sluice_pass_"+item+"="+c.cookie)
		if resp.StatusCode != c.status {
			t.Errorf("Sluice away, %s: %d, not %d", name, resp.StatusCode, c.status)
		}
	}
}

func TestWithSluiceAwayTheSettingDecides(t *testing.T) {
	t.Parallel()
	e := start(t, "FAIL_OPEN=true")
	e.On("bf", 0)
	if resp, _ := sitetest.Get(t, browser(), e.url+"/sale"); resp.StatusCode != 302 {
		t.Fatalf("in line: %d", resp.StatusCode)
	}
	// What a visitor makes Sluice refuse is no outage.
	long := strings.Repeat("x", 14<<10)
	if resp, _ := sitetest.Get(t, browser(), e.url+"/sale?"+strings.Repeat("y", 1000), "Cookie", "a="+long, "Accept", strings.Repeat("z", 900)); resp.StatusCode < 300 || resp.StatusCode >= 500 || len(e.Origin.Seen()) != 0 {
		t.Errorf("too long a request: %d", resp.StatusCode)
	}
	e.StopSluice()
	if resp, _ := sitetest.Get(t, browser(), e.url+"/sale"); resp.StatusCode != 200 {
		t.Errorf("Sluice away: %d", resp.StatusCode)
	}
}
