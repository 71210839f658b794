// Package edge tests the worker for the edge, in Node, against a real node.
package edge

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/app"
	"github.com/sluicehq/sluice/internal/config"
)

const adminToken = "an-admin-token-for-tests-of-the-edge"

// edge is a site behind the worker.
type edge struct {
	t       *testing.T
	url     string // of the worker
	sluice  string
	admin   string
	reached *atomic.Int64 // requests that the origin saw
	stop    func()        // ends Sluice
}

func start(t *testing.T, env ...string) *edge {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("node is missing")
		}
		t.Skip("SKIPPED: no node here")
	}
	e := &edge{t: t, reached: &atomic.Int64{}}
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.reached.Add(1)
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Cache-Control", "public, max-age=60")
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, body)
	}))
	t.Cleanup(origin.Close)

	listen := httptest.NewUnstartedServer(nil) // a free port, so that the public address is known before the start
	at := listen.Listener.Addr().String()
	listen.Listener.Close()
	public, err := url.Parse("http://" + at)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	a, err := app.New(ctx, app.Options{
		Log: slog.New(slog.DiscardHandler),
		Config: config.Serve{
			Listen: at, AdminListen: "127.0.0.1:0", OpsListen: "127.0.0.1:0", PublicURL: public, DataDir: t.TempDir(),
			SecretKey: config.Keys{bytes.Repeat([]byte{7}, 32)}, Roles: config.Roles{Gate: true, Scheduler: true, Admin: true},
			BootstrapAdminToken: adminToken, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
			MoverTick: 50 * time.Millisecond, MaxStreams: 10, NodeID: "edge", ShutdownTimeout: 5 * time.Second, AutoMigrate: true,
			ItemPatterns: []string{"/product/{item}", "/sale=bf"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(ctx); err != nil {
		t.Fatal(err)
	}
	stopped := false
	e.stop = func() {
		if stopped {
			return
		}
		stopped = true
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		_ = a.Stop(ctx)
	}
	t.Cleanup(e.stop)
	e.sluice, e.admin = "http://"+a.Addresses().Visitor, "http://"+a.Addresses().Admin

	cmd := exec.CommandContext(ctx, "node", "--no-warnings", "testdata/serve.mjs")
	cmd.Env = append(os.Environ(), append([]string{"SLUICE_URL=" + public.String(), "ORIGIN=" + origin.URL, "ITEM_PATTERNS=/product/{item},/sale=bf"}, env...)...)
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
	e.url = "http://127.0.0.1:" + strings.TrimSpace(line)
	e.call("PATCH", "/policies/*", `{"return_origins": ["`+e.url+`"]}`)
	return e
}

// call calls the admin API.
func (e *edge) call(method, path, body string) {
	e.t.Helper()
	req, _ := http.NewRequest(method, e.admin+"/admin/api/v1"+path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+adminToken)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		e.t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode >= 300 {
		e.t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, text)
	}
}

// on turns an item's queue on, and sets its inflow.
func (e *edge) on(item string, inflow float64) {
	e.t.Helper()
	e.call("POST", "/items/"+item+"/activate", "")
	e.call("POST", "/items/"+item+"/inflow", fmt.Sprintf(`{"inflow_per_second": %v}`, inflow))
}

// browser keeps cookies and follows no redirect.
func browser() *http.Client {
	jar, _ := cookiejar.New(nil)
	return &http.Client{Jar: jar, Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// get opens an address as a page, with further headers: name, value, …
func (e *edge) get(c *http.Client, address string, headers ...string) (*http.Response, string) {
	e.t.Helper()
	req, err := http.NewRequest("GET", address, nil)
	if err != nil {
		e.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		e.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp, string(body)
}

func TestWithTheQueueOffEveryRequestReachesTheOrigin(t *testing.T) {
	t.Parallel()
	e := start(t)
	for _, path := range []string{"/product/sku-1?a=%2B", "/", "/style.css", "/sale"} {
		if resp, body := e.get(browser(), e.url+path); resp.StatusCode != 200 || body != "GET "+path+" " {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
	resp, err := browser().Post(e.url+"/product/sku-1", "text/plain", strings.NewReader("order"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); string(body) != "POST /product/sku-1 order" {
		t.Errorf("a POST came as %s", body)
	}
}

func TestAVisitorLinesUpAndComesInWithAPass(t *testing.T) {
	t.Parallel()
	e := start(t)
	e.on("sku-1", 0)
	c := browser()
	page := e.url + "/product/SKU-1?a=1&b=%2B"
	resp, _ := e.get(c, page)
	wait := resp.Header.Get("Location")
	if resp.StatusCode != 302 || !strings.HasPrefix(wait, e.sluice+"/wait/sku-1?return=") || resp.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("in line: %d %s", resp.StatusCode, resp.Header)
	}
	if n := e.reached.Load(); n != 0 {
		t.Fatalf("the origin saw %d requests", n)
	}
	// A call of a script is told, not redirected; another spelling is no way round.
	for path, headers := range map[string][]string{
		"/product/sku-1":       {"Sec-Fetch-Mode", "cors"},
		"//product/%73ku-1;x/": {"X-Requested-With", "XMLHttpRequest"},
	} {
		if resp, _ := e.get(c, e.url+path, headers...); resp.StatusCode != 401 || resp.Header.Get("Sluice-Action") != "wait" {
			t.Errorf("%s: %d %s", path, resp.StatusCode, resp.Header)
		}
	}
	e.on("sku-1", 100)
	back := ""
	for end := time.Now().Add(10 * time.Second); back == "" && time.Now().Before(end); <-time.After(100 * time.Millisecond) {
		resp, _ = e.get(c, wait)
		back = resp.Header.Get("Location")
	}
	if !strings.HasPrefix(back, e.url+"/product/SKU-1?a=1&b=%2B") {
		t.Fatalf("back at %q", back)
	}
	// The site and Sluice are two ports of one host here, so the cookie carries the pass.
	resp, body := e.get(c, back)
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
	resp, _ = e.get(other, e.url+"/product/sku-1?x=1&sluice_pass="+kept+"&y=2")
	if resp.StatusCode != 302 || resp.Header.Get("Location") != e.url+"/product/sku-1?x=1&y=2" {
		t.Fatalf("with the pass in the address: %d %s", resp.StatusCode, resp.Header)
	}
	e.stop()
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
		resp, _ := e.get(browser(), e.url+c.path, "Cookie", "sluice_pass_"+item+"="+c.cookie)
		if resp.StatusCode != c.status {
			t.Errorf("Sluice away, %s: %d, not %d", name, resp.StatusCode, c.status)
		}
	}
}

func TestWithSluiceAwayTheSettingDecides(t *testing.T) {
	t.Parallel()
	e := start(t, "FAIL_OPEN=true")
	e.on("bf", 0)
	if resp, _ := e.get(browser(), e.url+"/sale"); resp.StatusCode != 302 {
		t.Fatalf("in line: %d", resp.StatusCode)
	}
	e.stop()
	if resp, _ := e.get(browser(), e.url+"/sale"); resp.StatusCode != 200 {
		t.Errorf("Sluice away: %d", resp.StatusCode)
	}
}
