package console_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/browsertest"
	"github.com/sluicehq/sluice/internal/config"
)

// user makes a user and gives the address of a login link.
func (r *rig) user(name, role string) (link string) {
	r.t.Helper()
	made := r.api(http.MethodPost, "/users", map[string]any{"name": name, "role": role, "password": "a long pass phrase"})
	got := r.api(http.MethodPost, fmt.Sprintf("/users/%s/login-link", made["id"]), nil)
	for _, v := range got {
		if text, ok := v.(string); ok {
			if _, query, found := strings.Cut(text, "/admin/login?"); found {
				return r.console + "/login?" + query
			}
		}
	}
	r.t.Fatalf("no link in %v", got)
	return ""
}

// signedIn opens a page and signs a user of a role in.
func (r *rig) signedIn(name, role string) *browsertest.Page {
	r.t.Helper()
	r.user(name, role)
	p := browsertest.Open(r.t, browsertest.Options{})
	p.Go(r.console + "/")
	p.Fill("#name", name)
	p.Fill("#password", "a long pass phrase")
	p.Click("#sign-in")
	p.Has("Items")
	return p
}

func TestPeopleSignInAndOut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	link := r.user("ann", "operator")
	p := browsertest.Open(t, browsertest.Options{})
	p.Pardon("401")
	p.Go(r.console + "/policies")
	p.Eventually(`location.pathname === "/admin/login"`)
	p.Fill("#name", "ann")
	p.Fill("#password", "not the pass phrase")
	p.Click("#sign-in")
	p.Has("The name or the password is wrong")
	p.Fill("#password", "a long pass phrase")
	p.Click("#sign-in")
	p.Eventually(`location.pathname === "/admin/policies"`) // where ann wanted to go
	p.Has("ann")
	p.Click("#sign-out")
	p.Eventually(`location.pathname === "/admin/login"`)
	p.Go(link)
	p.Click("#sign-in")
	p.Has("ann")
	p.Click("#sign-out")
	p.Eventually(`location.pathname === "/admin/login"`)
	p.Go(link)
	p.Click("#sign-in")
	p.Has("or the link has been used")
}

func TestTheRealInflowFollowsTheOneSet(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.policy("shoe", map[string]any{"inflow_per_second": 2, "session_seconds": 30})
	r.act("shoe", "activate", nil)
	r.join("shoe", 400)
	p := r.signedIn("ann", "operator")
	p.Go(r.console + "/items/shoe")
	value := func(name string) string {
		return fmt.Sprintf(`Number(document.querySelector('[data-value=%q]')?.textContent)`, name)
	}
	p.Eventually(value("set") + " === 2")
	p.Eventually(value("real") + " > 1 && " + value("real") + " < 3")
	p.Fill("#inflow-to", "20")
	p.Has("From 2 to 20 people a second.") // in words, before it is done
	p.Click("form[action$='/inflow'] button.main")
	p.Has("The inflow is 20 people a second.")
	p.Eventually(value("set") + " === 20")
	p.Eventually(value("real") + " > 15 && " + value("real") + " < 25")
	p.Click(".band form button") // undo: back to the policy
	p.Has("The inflow is 2 people a second.")
	p.Eventually(value("set") + " === 2")
}

func TestAnActionSaysWhatItWillDoBeforeItIsDone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.policy("shoe", map[string]any{"inflow_per_second": 0})
	r.act("shoe", "activate", nil)
	r.join("shoe", 12)
	p := r.signedIn("ann", "operator")
	p.Go(r.console + "/items/shoe")
	p.Click("#do-pause")
	p.Has("12 people keep their places; nobody is let in until you resume.")
	p.Press("\u001b") // Escape: nothing is done
	p.Eventually(`!document.getElementById("dialog").open`)
	if state := r.api(http.MethodGet, "/items/shoe", nil)["state"]; state != "open" {
		t.Errorf("the queue is %v after the question alone", state)
	}
	p.Click("#do-pause")
	p.Fill("#reason", "sound check")
	p.Click("#dialog [data-confirm]")
	p.Has("The queue is paused.")
	p.Click(".band form button") // undo
	p.Has("The queue is open again.")
	p.Click("#do-close")
	p.Has("12 people who wait are turned away.")
	p.Has("This cannot be taken back.")
	p.Click("#dialog [data-confirm]")
	p.Has("The queue is closed; 12 people were turned away.")
}

func TestTwoOperatorsEditOnePolicy(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.policy("shoe", map[string]any{"inflow_per_second": 10, "max_waiting": 100, "session_seconds": 60})
	ann, bob := r.signedIn("ann", "operator"), r.signedIn("bob", "operator")
	bob.Pardon("409")
	address := r.console + "/policy?pattern=shoe"
	ann.Go(address)
	bob.Go(address)
	ann.Fill("#f-inflow_per_second", "20")
	ann.Fill("#f-max_waiting", "200")
	ann.Click("#save")
	ann.Has("Saved.")
	bob.Fill("#f-inflow_per_second", "30") // ann has changed it too
	bob.Fill("#f-session_seconds", "90")   // and this she has not
	bob.Click("#save")
	bob.Has("Somebody else has saved this policy meanwhile")
	bob.Has("ann saved it at")
	for selector, want := range map[string]string{
		"[data-theirs=inflow_per_second]": "20", "[data-yours=inflow_per_second]": "30",
	} {
		if got := bob.Text(selector); got != want {
			t.Errorf("%s shows %q; want %q", selector, got, want)
		}
	}
	for field, want := range map[string]string{"inflow_per_second": "30", "session_seconds": "90", "max_waiting": "200"} {
		if got := browsertest.Evaluate[string](bob, fmt.Sprintf("document.getElementById(%q).value", "f-"+field)); got != want {
			t.Errorf("the form holds %s %q; want %q", field, got, want)
		}
	}
	if now := r.api(http.MethodGet, "/policies/shoe", nil); now["inflow_per_second"] != 20.0 {
		t.Errorf("bob has overwritten ann's: %v", now)
	}
	bob.Click("#save")
	bob.Has("Saved.")
	now := r.api(http.MethodGet, "/policies/shoe", nil)
	if now["inflow_per_second"] != 30.0 || now["session_seconds"] != 90.0 || now["max_waiting"] != 200.0 {
		t.Errorf("in force is %v", now)
	}
}

func TestAViewerSeesNoControlAndIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.act("shoe", "activate", nil)
	r.join("shoe", 3)
	p := r.signedIn("vic", "viewer")
	p.Pardon("403")
	for _, path := range []string{"/", "/items/shoe", "/policies", "/policy?pattern=*", "/switch", "/integrate", "/history", "/audit"} {
		p.Go(r.console + path)
		// What is left: the reader's own look, searches, and the way out.
		got := browsertest.Evaluate[[]string](p, `[...document.querySelectorAll("main form[method=post], main .controls, main a[hx-get]")].map(e => e.outerHTML.slice(0, 200))`)
		if len(got) > 0 {
			t.Errorf("%s shows controls: %q", path, got)
		}
	}
	for path, body := range map[string]string{
		"/items/shoe/do/pause": "confirm=shoe", "/items/shoe/inflow": "to=1", "/items/shoe/visitor": "visitor=abcdefghijklmnop",
		"/switch": "to=pass&confirm=pass", "/policy?pattern=shoe": "base={}", "/policy/delete?pattern=shoe": "", "/people/users": "name=eve&role=admin",
		"/people/tokens": "name=eve&role=admin", "/webhooks": "url=https://hooks.example",
	} {
		status := browsertest.Evaluate[int](p, fmt.Sprintf(
			`fetch(%q, {method: "POST", headers: {"Content-Type": "application/x-www-form-urlencoded"}, body: %q}).then(r => r.status)`, "/admin"+path, body))
		if status != http.StatusForbidden {
			t.Errorf("a forged POST %s answers %d; want 403", path, status)
		}
	}
	if state := r.api(http.MethodGet, "/items/shoe", nil)["state"]; state != "open" {
		t.Errorf("the queue is %v", state)
	}
}

// A receiver is added, tried and taken away again; its secret is shown once.
func TestAWebhookIsAddedTriedAndDeleted(t *testing.T) {
	t.Parallel()
	got := make(chan string, 8)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		got <- req.Header.Get("webhook-signature")
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(receiver.Close)
	r := newRig(t, func(c *config.Serve) { c.WebhookNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	p := r.signedIn("ann", "admin")
	p.Pardon("400")
	p.Go(r.console + "/webhooks")
	p.Fill("#url", "http://10.0.0.1/hook")
	p.Fill("#note", "the shop's own")
	p.Click("#add-webhook")
	p.Eventually(`document.querySelector(".band.bad")`)
	if kept := browsertest.Evaluate[string](p, `document.getElementById("note").value`); kept != "the shop's own" {
		t.Errorf("the form forgot the note: %q", kept)
	}
	p.Fill("#url", receiver.URL)
	p.Click("#add-webhook")
	p.Has("It is shown this once.")
	if text := p.Text("#secret-text"); !strings.HasPrefix(text, "whsec_") {
		t.Errorf("the secret is %q", text)
	}
	p.Click("tbody th a")
	p.Accessible()
	p.Click("#test-webhook")
	p.Has("The receiver took the test: status 204")
	if signature := <-got; !strings.HasPrefix(signature, "v1,") {
		t.Errorf("the test came with the signature %q", signature)
	}
	r.act("shoe", "activate", nil)
	<-got
	p.Click("#delete-webhook")
	p.Has("This cannot be taken back.")
	p.Click("#dialog [data-confirm]")
	p.Has("Nobody is told yet.")
}

// Who looks back finds what was done by whom, takes it away as a file, and sees how queues went.
func TestThePastIsToldAndExported(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.policy("shoe", map[string]any{"inflow_per_second": 7})
	r.act("shoe", "activate", map[string]any{"reason": "before the launch"})
	r.act("hat", "activate", nil)
	r.join("hat", 3)
	r.act("hat", "deactivate", map[string]any{"confirm": "hat"})
	p := r.signedIn("vic", "viewer")
	p.Go(r.console + "/audit")
	p.Has("before the launch")
	p.Fill("#subject", "shoe")
	p.Press("\r")
	p.Eventually(`location.search.includes("subject=shoe") && ![...document.querySelectorAll("tbody td")].some(e => e.textContent.includes("hat"))`)
	p.Click("tbody tr:nth-child(2) details summary") // the policy was changed first
	p.Has("inflow_per_second")
	file := browsertest.Evaluate[string](p, `fetch(document.getElementById("csv").href).then(r => r.text())`)
	if !strings.HasPrefix(file, "at,who,") || !strings.Contains(file, "item.activate,shoe,before the launch") || strings.Contains(file, "hat") {
		t.Errorf("the file is %q", file)
	}
	p.Go(r.console + "/history")
	p.Eventually(`document.querySelectorAll("tbody tr").length === 2`)
	p.Fill("#item", "hat")
	p.Press("\r")
	p.Eventually(`location.search.includes("item=hat") && document.querySelectorAll("tbody tr").length === 1`)
	p.Has("0 gave up") // the books of a queue that has ended
}

// A provider that cannot be reached is said at the login page, which goes on to work.
func TestTheLoginPageOffersSingleSignOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *config.Serve) {
		c.AdminURL = &url.URL{Scheme: "http", Host: "localhost:8081"}
		c.OIDC = config.OIDC{Issuer: "http://127.0.0.1:1", ClientID: "sluice", Scopes: []string{"openid"}, RoleClaim: "groups", Roles: []string{"ops=operator"}}
	})
	p := browsertest.Open(t, browsertest.Options{})
	p.Go(r.console + "/login")
	p.Accessible()
	p.Click("#sso")
	p.Has("The sign-in provider cannot be reached.")
	p.Has("Sign in with single sign-on")
}

// What there is to copy names this server and the item that was asked for.
func TestSnippetsAreFilledIn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.signedIn("vic", "viewer")
	p.Go(r.console + "/integrate")
	p.Fill("#item", "shoe-7")
	p.Press("\r")
	p.Has("https://wait.shop.example/v1/items/shoe-7/check")
	p.Has(`<script src="https://wait.shop.example/sluice.js" data-item="shoe-7"></script>`)
	p.Has("server_name wait.shop.example;")
	p.Has("An admin sees customer id and secret here.")
}

// The overview finds and sorts without a page of its own being loaded, and shows what has changed meanwhile.
func TestTheOverviewIsLive(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.policy("item-07", map[string]any{"inflow_per_second": 0})
	for i := range 60 {
		r.act(fmt.Sprintf("item-%02d", i), "activate", nil)
	}
	r.join("item-07", 5)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	p := r.signedIn("ann", "viewer")
	p.Has("1–50 of 60")
	p.Eventually(`document.querySelector("#rows tbody tr")?.id === "row-item-07"`) // the longest line first
	r.join("item-07", 4)
	p.Eventually(`document.querySelector("#row-item-07 td b")?.textContent === "9"`)
	p.Click("thead th:first-child a")
	p.Eventually(`document.querySelector("#rows tbody tr")?.id === "row-item-00"`)
	p.Fill("#q", "item-5")
	p.Has("1–10 of 10")
	p.Eventually(`location.search.includes("q=item-5")`)
	r.policy("rush", map[string]any{"trigger_requests": 60, "trigger_window_seconds": 10})
	r.crowd(ctx, &wg, "rush", 4, 100*time.Millisecond)
	p.Go(r.console + "/?state=rising")
	p.Eventually(`document.querySelector("#row-rush .state.rising")`)
}

// Keys alone lead everywhere: the first stop skips the menu, and the dialog keeps the focus inside.
func TestTheKeyboardIsEnough(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.act("shoe", "activate", nil)
	p := r.signedIn("ann", "operator")
	p.Go(r.console + "/items/shoe")
	p.Press("\t")
	if text := browsertest.Evaluate[string](p, "document.activeElement.textContent"); text != "Skip to the content" {
		t.Errorf("the first stop is %q", text)
	}
	browsertest.Evaluate[bool](p, `(document.getElementById("do-pause").focus(), true)`)
	p.Press("\r")
	p.Eventually(`document.getElementById("dialog").open && document.getElementById("dialog").contains(document.activeElement)`)
	p.Press("\u001b")
	p.Eventually(`document.activeElement.id === "do-pause"`)
}

func TestEveryPageIsAccessible(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.user("ann", "operator")
	r.api(http.MethodPost, "/tokens", map[string]any{"name": "shop", "role": "service"})
	r.policy("shoe", map[string]any{"inflow_per_second": 1})
	for _, item := range []string{"shoe", "hat", "closed", "paused"} {
		r.act(item, "activate", nil)
	}
	r.join("shoe", 20)
	r.act("paused", "pause", nil)
	r.act("closed", "close", map[string]any{"confirm": "closed"})
	for _, look := range []browsertest.Options{{}, {Dark: true}, {Width: 360, Height: 740, Phone: true, Lang: "ko"}} {
		t.Run(fmt.Sprintf("dark %v, phone %v", look.Dark, look.Phone), func(t *testing.T) {
			p := r.open(adminToken, look)
			p.Pardon("404")
			for _, path := range append(paths(), "/nothing") {
				p.Go(r.console + path)
				p.Eventually(`document.getElementById("main")`)
				p.Accessible()
				// 360 px wide: nothing but a table in its own frame may be wider than the screen.
				if wide := browsertest.Evaluate[int](p, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide > 0 {
					t.Errorf("%s is %d px wider than the screen", path, wide)
				}
			}
			out := browsertest.Open(t, look)
			out.Go(r.console + "/login")
			out.Accessible()
		})
	}
}

// paths are those of all pages that can be looked at without more to know.
func paths() []string {
	return []string{
		"/", "/?state=closed", "/?q=nothing", "/items/shoe", "/items/closed", "/items/paused", "/items/quiet", "/items/shoe/visitor?q=abcdefghijklmnop&by=ref",
		"/items/shoe/do/pause", "/items/shoe/do/close", "/items/shoe/do/admit", "/policies", "/policy", "/policy?pattern=shoe", "/policy?pattern=new-*",
		"/policy/delete?pattern=shoe", "/switch", "/switch?to=hold", "/people", "/webhooks", "/integrate?item=shoe",
		"/history", "/history?item=shoe", "/audit", "/audit?who=nobody",
	}
}

// Pages work without JavaScript: they stand still, and do all the same.
func TestPagesWorkWithoutScript(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.act("shoe", "activate", nil)
	req := func(method, path, body string) (int, string) {
		q, err := http.NewRequestWithContext(t.Context(), method, r.console+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer "+adminToken)
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := r.client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode, readAll(t, resp)
	}
	if status, page := req("GET", "/items/shoe/do/pause", ""); status != 200 || !strings.Contains(page, `<form class="form" method="post" action="/admin/items/shoe/do/pause">`) {
		t.Errorf("the question answers %d: %s", status, page)
	}
	if status, page := req("POST", "/items/shoe/do/pause", "confirm=shoe"); status != 200 || !strings.Contains(page, "The queue is paused.") {
		t.Errorf("the action answers %d: %s", status, page)
	}
}
