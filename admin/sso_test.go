package admin

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/internal/sso"
)

// idp is a real provider of OpenID Connect, with some people.
type idp struct {
	*storage.Storage
	server *httptest.Server
	people map[string]*storage.User // by name

	mu     sync.Mutex
	groups map[string][]string // by id
}

func (p *idp) GetUserByUsername(name string) *storage.User { return p.people[name] }
func (p *idp) ExampleClientID() string                     { return "none" }
func (p *idp) GetUserByID(id string) *storage.User {
	for _, u := range p.people {
		if u.ID == id {
			return u
		}
	}
	return nil
}

// SetUserinfoFromToken adds the groups to what the provider tells of a person.
func (p *idp) SetUserinfoFromToken(ctx context.Context, info *oidc.UserInfo, tokenID, subject, origin string) error {
	err := p.Storage.SetUserinfoFromToken(ctx, info, tokenID, subject, origin)
	p.mu.Lock()
	defer p.mu.Unlock()
	info.AppendClaims("groups", p.groups[subject])
	return err
}

func (p *idp) put(id string, groups ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.groups[id] = groups
}

// ssoRig is an admin API behind a listener, and the provider it trusts.
type ssoRig struct {
	*fixture
	idp    *idp
	server *httptest.Server
}

func newSSORig(t *testing.T) *ssoRig {
	t.Helper()
	r := &ssoRig{server: unstarted(t)}
	here := "http://" + r.server.Listener.Addr().String()
	callback := here + SSOCallback
	p := &idp{server: unstarted(t), groups: map[string][]string{}, people: map[string]*storage.User{
		"ann":       {ID: "id-ann", Username: "ann", Password: "ann's password", Email: "ann@shop.example", EmailVerified: true},
		"bob smith": {ID: "id-bob", Username: "bob smith", Password: "bob's password"},
	}}
	p.Storage = storage.NewStorageWithClients(p, map[string]*storage.Client{"sluice": storage.WebClient("sluice", "the client's secret", callback)})
	issuer := "http://" + p.server.Listener.Addr().String() + "/"
	p.server.Config.Handler = exampleop.SetupServer(issuer, p, nil, false, op.WithAllowInsecure())
	p.server.Start()
	t.Cleanup(p.server.Close)
	r.idp = p

	self, err := url.Parse(here)
	if err != nil {
		t.Fatal(err)
	}
	r.fixture = newFixture(t, func(o *Options) {
		roles, err := RolesOf([]string{"staff=viewer", "on call=operator", "root=admin"})
		if err != nil {
			t.Fatal(err)
		}
		o.URL = self
		o.SSO = SSO{Roles: roles, Provider: sso.New(sso.Options{
			Issuer: issuer, ClientID: "sluice", ClientSecret: "the client's secret", RedirectURL: callback, Scopes: []string{"openid", "profile", "email"}, Claim: "groups",
		})}
	})
	r.server.Config.Handler = r.Handler()
	r.server.Start()
	t.Cleanup(r.server.Close)
	return r
}

// unstarted is a server whose address is known before its handler.
func unstarted(t *testing.T) *httptest.Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return &httptest.Server{Listener: l, Config: &http.Server{}}
}

// browser keeps cookies, and follows where it is sent as long as that is a page of the provider.
type browser struct {
	t *testing.T
	*http.Client
}

func newBrowser(t *testing.T) browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return browser{t, &http.Client{Jar: jar, Timeout: 20 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

func (b browser) get(address string) (*http.Response, string) {
	b.t.Helper()
	resp, err := b.Get(address)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.read(resp)
}

func (b browser) read(resp *http.Response) (*http.Response, string) {
	b.t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp, string(body)
}

func location(t *testing.T, resp *http.Response) string {
	t.Helper()
	at, err := resp.Location()
	if err != nil {
		t.Fatalf("%d leads nowhere: %v", resp.StatusCode, err)
	}
	return at.String()
}

var requestID = regexp.MustCompile(`name="id" value="([^"]*)"`)

// atProvider begins a sign-in and does what a person does at the provider, up to the address that leads back.
func (r *ssoRig) atProvider(b browser, name, password, to string) string {
	r.t.Helper()
	resp, _ := b.get(r.server.URL + SSOStart + "?to=" + url.QueryEscape(to))
	at := location(r.t, resp)
	for _, want := range []string{"code_challenge_method=S256", "nonce=", "state=", "response_type=code"} {
		if !strings.Contains(at, want) {
			r.t.Errorf("%s lacks %s", at, want)
		}
	}
	resp, _ = b.get(at)
	form := location(r.t, resp)
	_, page := b.get(form)
	id := requestID.FindStringSubmatch(page)
	if id == nil {
		r.t.Fatalf("no form at the provider:\n%s", page)
	}
	resp, err := b.PostForm(form, url.Values{"username": {name}, "password": {password}, "id": {id[1]}})
	if err != nil {
		r.t.Fatal(err)
	}
	resp, page = b.read(resp)
	if resp.StatusCode != http.StatusFound {
		r.t.Fatalf("the provider did not take the password:\n%s", page)
	}
	resp, page = b.get(location(r.t, resp))
	if resp.StatusCode != http.StatusFound {
		r.t.Fatalf("the provider did not lead back:\n%s", page)
	}
	return location(r.t, resp)
}

// session asks who is signed in at a browser.
func (r *ssoRig) session(b browser) (status int, body string) {
	r.t.Helper()
	resp, body := b.get(r.server.URL + base + "/session")
	return resp.StatusCode, body
}

func TestSingleSignOn(t *testing.T) {
	t.Parallel()
	r := newSSORig(t)
	r.idp.put("id-ann", "everybody", "staff", "on call")
	b := newBrowser(t)
	resp, _ := b.get(r.atProvider(b, "ann", "ann's password", "/admin/items/sku-1?tab=line"))
	if at := location(t, resp); at != r.server.URL+"/admin/items/sku-1?tab=line" {
		t.Errorf("led to %s", at)
	}
	if status, body := r.session(b); status != 200 || !strings.Contains(body, `"name":"ann"`) || !strings.Contains(body, `"role":"operator"`) {
		t.Errorf("signed in as %d %s", status, body)
	}
	if audit := r.do("GET", base+"/audit", "").Body; !strings.Contains(audit, `"action":"user.add"`) || !strings.Contains(audit, `"via":"single sign-on"`) {
		t.Errorf("audit %s", audit)
	}

	// The role is the provider's word at each sign-in, and the same person stays the same user.
	r.idp.put("id-ann", "staff")
	again := newBrowser(t)
	again.get(r.atProvider(again, "ann", "ann's password", ""))
	if _, body := r.session(again); !strings.Contains(body, `"role":"viewer"`) {
		t.Errorf("with another group: %s", body)
	}
	if _, body := r.session(b); !strings.Contains(body, `"role":"viewer"`) {
		t.Errorf("the session of before: %s", body)
	}
	if users := r.do("GET", base+"/users", "").JSON["users"].([]any); len(users) != 1 || users[0].(map[string]any)["single_sign_on"] != true {
		t.Errorf("users %v", users)
	}

	// A person without a role gets nowhere, and makes no user.
	c := newBrowser(t)
	resp, _ = c.get(r.atProvider(c, "bob smith", "bob's password", ""))
	if at := location(t, resp); at != r.server.URL+"/admin/login?error=no_role" {
		t.Errorf("without a role: %s", at)
	}
	if status, _ := r.session(c); status != 401 {
		t.Errorf("without a role: %d", status)
	}

	// A local user of the same name is another person.
	r.user("bob.smith", sqlstore.Admin)
	r.idp.put("id-bob", "staff")
	c.get(r.atProvider(c, "bob smith", "bob's password", ""))
	if _, body := r.session(c); !strings.Contains(body, `"role":"viewer"`) || !strings.Contains(body, `"name":"bob.smith@127.0.0.1`) {
		t.Errorf("of a name that is taken: %s", body)
	}
}

// What is not the answer to a sign-in that this browser has begun leads nowhere.
func TestSingleSignOnRefuses(t *testing.T) {
	t.Parallel()
	r := newSSORig(t)
	r.idp.put("id-ann", "root")
	for _, tc := range []struct {
		name  string
		do    func(b browser, back *url.URL) browser // with the address that leads back
		error string
	}{
		{"another browser", func(browser, *url.URL) browser { return newBrowser(t) }, "login_failed"},
		{"another state", func(b browser, at *url.URL) browser { set(at, "state", "other"); return b }, "login_failed"},
		{"no state", func(b browser, at *url.URL) browser { set(at, "state", ""); return b }, "login_failed"},
		{"another code", func(b browser, at *url.URL) browser { set(at, "code", "other"); return b }, "login_failed"},
		{"another provider", func(b browser, at *url.URL) browser { set(at, "iss", "https://evil.example"); return b }, "login_failed"},
		{"a refusal", func(b browser, at *url.URL) browser { set(at, "error", "access_denied"); return b }, "login_failed"},
		{"a forged flow", func(b browser, at *url.URL) browser {
			b.Jar.SetCookies(at, []*http.Cookie{{Name: flowCookie, Value: "forged", Path: SSOStart}})
			return b
		}, "login_failed"},
		{"the same answer again", func(b browser, at *url.URL) browser { b.get(at.String()); return b }, "login_failed"},
		{"the code of one sign-in in another", func(b browser, at *url.URL) browser {
			other, err := url.Parse(r.atProvider(newBrowser(t), "ann", "ann's password", ""))
			if err != nil {
				t.Fatal(err)
			}
			set(at, "code", other.Query().Get("code"))
			return b
		}, "login_failed"},
	} {
		b := newBrowser(t)
		back, err := url.Parse(r.atProvider(b, "ann", "ann's password", ""))
		if err != nil {
			t.Fatal(err)
		}
		b = tc.do(b, back)
		resp, _ := b.get(back.String())
		if at := location(t, resp); at != r.server.URL+"/admin/login?error="+tc.error {
			t.Errorf("%s: led to %s", tc.name, at)
		}
		for _, c := range resp.Cookies() {
			if c.Name == SessionCookie {
				t.Errorf("%s: a session", tc.name)
			}
		}
	}

	r.idp.server.Close()
	away := newSSOAway(t, r)
	if at := location(t, away); !strings.HasSuffix(at, "/admin/login?error=sso_unavailable") {
		t.Errorf("a provider that is away: %s", at)
	}
}

// newSSOAway begins a sign-in at a node that has never reached its provider.
func newSSOAway(t *testing.T, r *ssoRig) *http.Response {
	t.Helper()
	f := newFixture(t, func(o *Options) {
		o.SSO = SSO{Provider: sso.New(sso.Options{Issuer: r.idp.server.URL + "/", ClientID: "sluice", RedirectURL: "http://localhost:8081" + SSOCallback})}
	})
	w := httptest.NewRecorder()
	req := httptest.NewRequest("GET", "http://localhost:8081"+SSOStart, nil)
	f.Handler().ServeHTTP(w, req)
	resp := w.Result()
	resp.Request = req
	return resp
}

func set(at *url.URL, name, value string) {
	q := at.Query()
	q.Set(name, value)
	at.RawQuery = q.Encode()
}

func TestLocalPath(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]string{
		"": "/admin/", "/admin/": "/admin/", "/admin/items/x?a=1#b": "/admin/items/x?a=1#b", "/": "/admin/", "/other": "/admin/",
		"https://evil.example/admin/": "/admin/", "//evil.example/admin/": "/admin/", `/\evil.example/admin/`: "/admin/", `/admin/\x`: "/admin/",
		"/admin/\r\nX: y": "/admin/", "javascript:alert(1)": "/admin/", "/admin": "/admin/", "http:/admin/": "/admin/",
	} {
		if got := localPath(to); got != want {
			t.Errorf("%q leads to %q, want %q", to, got, want)
		}
	}
}

func TestNoSingleSignOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.as("", "GET", SSOStart, "").want(t, 404, "not_found")
	f.as("", "GET", SSOCallback+"?code=x&state=y", "").want(t, 404, "not_found")
}

func TestRolesOf(t *testing.T) {
	t.Parallel()
	roles, err := RolesOf([]string{"a=viewer", "cn=ops,dc=x=operator", "b=admin"})
	if err != nil || roles["cn=ops,dc=x"] != sqlstore.Operator {
		t.Fatalf("%v %v", roles, err)
	}
	s := SSO{Roles: roles}
	for want, values := range map[sqlstore.Role][]string{sqlstore.Viewer: {"x", "a"}, sqlstore.Admin: {"b", "a"}, "": {"x"}} {
		if got, ok := s.role(values); got != want || ok != (want != "") {
			t.Errorf("%v gives %q", values, got)
		}
	}
	for _, bad := range []string{"a", "=admin", "a=service", "a=root", ""} {
		if _, err := RolesOf([]string{bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
