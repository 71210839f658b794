package admin

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/sqlstore"
)

// cookieOf is the session's cookie of an answer, to send back.
func cookieOf(t *testing.T, a answer) (line string, c *http.Cookie) {
	t.Helper()
	for _, c := range (&http.Response{Header: a.Header}).Cookies() {
		if c.Name == SessionCookie {
			return "Cookie: " + c.Name + "=" + c.Value, c
		}
	}
	t.Fatalf("no session cookie: %v", a.Header)
	return "", nil
}

func signInBody(name, plain string) string {
	return fmt.Sprintf(`{"user":%q,"password":%q}`, name, plain)
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, with func(*Options)) {
		f := newFixture(t, with)
		f.user("Ann", sqlstore.Operator)
		in := f.as("", "POST", base+"/session", signInBody(" ANN ", thePassword)).want(t, 200, "")
		if in.JSON["name"] != "ann" || in.JSON["role"] != "operator" || in.JSON["via"] != "session" || in.JSON["expires_at"] != "2026-12-02T11:00:00.000Z" {
			t.Errorf("answered %s", in.Body)
		}
		way, c := cookieOf(t, in)
		if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.MaxAge != 86400 || c.Secure || len(c.Value) < 27 {
			t.Errorf("cookie %v", c)
		}
		f.by(way, "GET", base+"/session", "").want(t, 200, "")
		f.by(way, "POST", base+"/items/x/activate", "").want(t, 200, "")
		audit := f.do("GET", base+"/audit", "").JSON["audit"].([]any)
		newest := audit[0].(map[string]any)
		if newest["action"] != "item.activate" || newest["who"] != "ann" || newest["via"] != "session" || newest["role"] != "operator" || newest["address"] != "198.51.100.4" {
			t.Errorf("audit %v", newest)
		}
		for _, body := range []string{signInBody("ann", "wrong"), signInBody("bob", thePassword), signInBody("", ""), signInBody("ann", ""), `{"code":"nonsense"}`} {
			got := f.as("", "POST", base+"/session", body).want(t, 401, "login_failed")
			if got.Header.Get("Set-Cookie") != "" {
				t.Errorf("%s: a cookie", body)
			}
		}
		for _, body := range []string{`{}`, `{"user":"ann"}`, `{"user":"ann","password":"x","code":"y"}`, `{"user":"ann","password":7}`} {
			f.as("", "POST", base+"/session", body).want(t, 400, "invalid_body")
		}
		if strings.Contains(f.log.String(), thePassword) || strings.Contains(f.log.String(), c.Value) || strings.Contains(f.do("GET", base+"/audit", "").Body, c.Value) {
			t.Error("a secret is in the log or the audit")
		}

		out := f.by(way, "DELETE", base+"/session", "").want(t, 204, "")
		if _, c := cookieOf(t, out); c.MaxAge >= 0 || c.Value != "" {
			t.Errorf("signed out with %v", c)
		}
		f.by(way, "GET", base+"/session", "").want(t, 401, "unauthorized")
	})
}

// A session ends by time, with another password, without the user; a role that changes counts at once.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, with func(*Options)) {
		f := newFixture(t, with)
		id := f.user("ann", sqlstore.Admin)
		way := func() string { return "Cookie: " + f.signedInAs("ann") }

		first := way()
		f.by(first, "GET", base+"/users", "").want(t, 200, "")
		f.hand.Add(sessionFor - time.Second)
		f.by(first, "GET", base+"/users", "").want(t, 200, "")
		f.hand.Add(time.Second)
		f.by(first, "GET", base+"/users", "").want(t, 401, "unauthorized")

		second := way()
		f.by(second, "GET", base+"/users", "").want(t, 200, "")
		f.do("PATCH", base+"/users/"+id, `{"role":"viewer"}`).want(t, 200, "")
		f.by(second, "GET", base+"/users", "").want(t, 403, "forbidden")
		f.by(second, "GET", base+"/items", "").want(t, 200, "")
		f.do("PATCH", base+"/users/"+id, `{"password":"another password"}`).want(t, 200, "")
		f.by(second, "GET", base+"/items", "").want(t, 401, "unauthorized")
		f.as("", "POST", base+"/session", signInBody("ann", thePassword)).want(t, 401, "login_failed")
		f.as("", "POST", base+"/session", signInBody("ann", "another password")).want(t, 200, "")

		third := way()
		f.by(third, "GET", base+"/items", "").want(t, 200, "")
		f.do("DELETE", base+"/users/"+id, "").want(t, 204, "")
		f.by(third, "GET", base+"/items", "").want(t, 401, "unauthorized")
		f.do("DELETE", base+"/users/"+id, "").want(t, 404, "not_found")
	})
}

func TestUsers(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, with func(*Options)) {
		f := newFixture(t, with)
		ann := f.user("ann", sqlstore.Admin)
		f.do("POST", base+"/users", `{"name":"김철수","role":"marketer"}`).want(t, 201, "")
		f.do("POST", base+"/users", `{"name":"ANN","role":"viewer"}`).want(t, 409, "already_exists")
		for _, body := range []string{`{}`, `{"name":"x"}`, `{"name":"","role":"viewer"}`, `{"name":"a b","role":"viewer"}`, `{"name":"x","role":"service"}`, `{"name":"x","role":"root"}`,
			`{"name":"x","role":"viewer","password":"short"}`, `{"name":"x","role":"viewer","password":""}`, `{"name":"x","role":"viewer","admin":true}`,
			`{"name":"` + strings.Repeat("x", 101) + `","role":"viewer"}`} {
			f.do("POST", base+"/users", body).want(t, 400, "invalid_body")
		}
		list := f.do("GET", base+"/users", "").want(t, 200, "")
		users := list.JSON["users"].([]any)
		if len(users) != 2 || users[0].(map[string]any)["name"] != "ann" || users[0].(map[string]any)["has_password"] != true ||
			users[1].(map[string]any)["has_password"] != false || strings.Contains(list.Body, "argon2") {
			t.Errorf("listed %s", list.Body)
		}
		own := "Cookie: " + f.signedInAs("ann")
		f.by(own, "DELETE", base+"/users/"+ann, "").want(t, 409, "own_account")
		f.by(own, "PATCH", base+"/users/"+ann, `{"role":"viewer"}`).want(t, 409, "own_account")
		f.by(own, "PATCH", base+"/users/"+ann, `{"role":"admin"}`).want(t, 200, "")
		for _, body := range []string{`{}`, `{"role":"service"}`, `{"password":""}`, `{"password":"short"}`, `{"name":"x"}`} {
			f.do("PATCH", base+"/users/"+ann, body).want(t, 400, "invalid_body")
		}
		f.do("PATCH", base+"/users/none", `{"role":"viewer"}`).want(t, 404, "not_found")
		if got := f.do("PATCH", base+"/users/"+ann, `{"password":null}`).want(t, 200, ""); got.JSON["has_password"] != false {
			t.Errorf("without a password: %s", got.Body)
		}
		f.as("", "POST", base+"/session", signInBody("ann", thePassword)).want(t, 401, "login_failed")
		f.as("", "POST", base+"/session", signInBody("ann", "")).want(t, 401, "login_failed")

		audit := f.do("GET", base+"/audit", "")
		for _, action := range []string{"user.add", "user.password", "user.role"} {
			if !strings.Contains(audit.Body, `"action":"`+action+`"`) {
				t.Errorf("%s is not audited", action)
			}
		}
		if strings.Contains(audit.Body, "argon2") {
			t.Error("a password's hash is in the audit")
		}
	})
}

func TestLoginLink(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, with func(*Options)) {
		f := newFixture(t, with)
		id := f.do("POST", base+"/users", `{"name":"ann","role":"viewer"}`).want(t, 201, "").JSON["id"].(string)
		link := func() string {
			made := f.do("POST", base+"/users/"+id+"/login-link", "").want(t, 201, "")
			where, code, _ := strings.Cut(made.JSON["url"].(string), "?code=")
			if where != "http://localhost:8081/admin/login" || made.JSON["expires_at"] != instantText(f.hand.Now().Add(15*time.Minute)) {
				t.Errorf("made %s", made.Body)
			}
			if strings.Contains(f.do("GET", base+"/audit", "").Body, code) {
				t.Error("the code is in the audit")
			}
			return fmt.Sprintf(`{"code":%q}`, code)
		}
		code := link()
		way, _ := cookieOf(t, f.as("", "POST", base+"/session", code).want(t, 200, ""))
		f.by(way, "GET", base+"/items", "").want(t, 200, "")
		f.as("", "POST", base+"/session", code).want(t, 401, "login_failed") // once
		late := link()
		f.hand.Add(15 * time.Minute)
		f.as("", "POST", base+"/session", late).want(t, 401, "login_failed")
		old := link()
		f.do("PATCH", base+"/users/"+id, `{"password":"a new password"}`).want(t, 200, "")
		f.as("", "POST", base+"/session", old).want(t, 401, "login_failed")
		gone := link()
		f.do("DELETE", base+"/users/"+id, "").want(t, 204, "")
		f.as("", "POST", base+"/session", gone).want(t, 401, "login_failed")
		f.do("POST", base+"/users/"+id+"/login-link", "").want(t, 404, "not_found")
	})
}

func instantText(at time.Time) string {
	b, _ := instant(at).MarshalJSON()
	return strings.Trim(string(b), `"`)
}

// Passwords cannot be tried at will, neither one user's from many addresses nor many users' from one.
func TestLoginThrottle(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.user("ann", sqlstore.Admin)
	from := func(address, name, plain string) answer {
		r := httptest.NewRequest("POST", base+"/session", strings.NewReader(signInBody(name, plain)))
		r.RemoteAddr = address
		w := httptest.NewRecorder()
		f.Handler().ServeHTTP(w, r)
		return answer{Code: w.Code, Header: w.Header(), Body: w.Body.String()}
	}
	for i := range 10 {
		if got := from(fmt.Sprintf("198.51.100.%d:1", i), "ann", "a guess"); got.Code != 401 {
			t.Fatalf("guess %d: %d", i, got.Code)
		}
	}
	got := from("198.51.100.99:1", "ann", thePassword)
	if wait, err := strconv.Atoi(got.Header.Get("Retry-After")); got.Code != 429 || err != nil || wait < 1 || wait > 60 || !strings.Contains(got.Body, "login-link") {
		t.Fatalf("the eleventh: %d %v %s", got.Code, got.Header, got.Body)
	}
	f.hand.Add(time.Minute)
	if got := from("198.51.100.99:1", "ann", thePassword); got.Code != 200 {
		t.Errorf("a minute later: %d %s", got.Code, got.Body)
	}
	if got := from("198.51.100.99:1", "ann", "a guess"); got.Code != 401 {
		t.Errorf("whoever has signed in may mistype again: %d", got.Code)
	}

	refused := 0
	for i := range 60 { // IPv6: one subscriber has a whole /64
		if got := from(fmt.Sprintf("[2001:db8::%x]:1", i+1), fmt.Sprintf("user-%d", i), "password12"); got.Code == 429 {
			refused++
		}
	}
	if refused != 30 {
		t.Errorf("%d of 60 tries from one /64 were refused, want 30", refused)
	}
	for i := range 40 { // whoever signs in rightly is not held up
		if got := from("203.0.113.5:1", "ann", thePassword); got.Code != 200 {
			t.Fatalf("sign-in %d: %d", i, got.Code)
		}
	}
}

func TestBucketsAreBounded(t *testing.T) {
	t.Parallel()
	b := &buckets{most: 3, every: time.Minute, of: map[string]bucket{}}
	for i := range 3 * mostBuckets {
		if b.take(fmt.Sprint(i), start) != 0 {
			t.Fatal("a new key is refused")
		}
	}
	if len(b.of) > mostBuckets {
		t.Errorf("%d are kept", len(b.of))
	}
}

// Another site's page can neither act with the browser's session nor sign the browser in.
func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.user("ann", sqlstore.Admin)
	cookie := f.signedInAs("ann")
	for _, tc := range []struct {
		name    string
		headers []string
		ok      bool
	}{
		{"no browser", nil, true},
		{"the console itself", []string{"Sec-Fetch-Site", "same-origin", "Origin", "http://example.com"}, true},
		{"the address bar", []string{"Sec-Fetch-Site", "none"}, true},
		{"another site", []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, false},
		{"another site under the same domain", []string{"Sec-Fetch-Site", "same-site", "Origin", "https://shop.example.com"}, false},
		{"an old browser at another site", []string{"Origin", "https://evil.example"}, false},
		{"an old browser at the console", []string{"Origin", "http://example.com"}, true},
		{"a sandboxed frame", []string{"Origin", "null"}, false},
		{"the console as --admin-url says, behind a proxy that changes the host", []string{"Sec-Fetch-Site", "cross-site", "Origin", "http://localhost:8081"}, true},
	} {
		status, code := 200, ""
		if !tc.ok {
			status, code = 403, "cross_origin"
		}
		with := append([]string{"Cookie", cookie}, tc.headers...)
		f.as("", "POST", base+"/items/x/activate", "", with...).want(t, status, code)
		f.as("", "POST", base+"/session", signInBody("ann", thePassword), tc.headers...).want(t, status, code)
		f.as("", "GET", base+"/items", "", with...).want(t, 200, "")               // reading is safe: no other page sees the answer
		f.do("POST", base+"/items/x/activate", "", tc.headers...).want(t, 200, "") // no browser adds a bearer token by itself
	}
}

// B062: where a request comes from is the peer's word alone, or a trusted proxy's.
func TestAddress(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	forged := []string{"X-Forwarded-For", "127.0.0.1", "X-Real-IP", "10.0.0.1", "Forwarded", "for=10.0.0.1", "CF-Connecting-IP", "10.0.0.1",
		"X-Forwarded-Proto", "https", "X-Forwarded-Host", "evil.example"}
	f.user("ann", sqlstore.Admin)
	in := f.as("", "POST", base+"/session", signInBody("ann", thePassword), forged...).want(t, 200, "")
	if _, c := cookieOf(t, in); c.Secure || c.Domain != "" {
		t.Errorf("cookie %v", c)
	}
	newest := f.do("GET", base+"/audit", "").JSON["audit"].([]any)[0].(map[string]any)
	if newest["action"] != "session.start" || newest["address"] != "198.51.100.4" {
		t.Errorf("audit %v", newest)
	}
	if strings.Contains(in.Body, "evil.example") || strings.Contains(fmt.Sprint(in.Header), "evil.example") {
		t.Errorf("answered %v %s", in.Header, in.Body)
	}
}

// A session that another admin node has begun is good here at once, and one that it has ended is over within a second.
func TestSessionsOfOtherNodes(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, with func(*Options)) {
		f := newFixture(t, with)
		f.user("ann", sqlstore.Viewer)
		way := "Cookie: " + f.signedInAs("ann") // written past this node's memory
		f.by(way, "GET", base+"/items", "").want(t, 200, "")
		u, err := f.store.UserNamed(t.Context(), "ann")
		if err != nil {
			t.Fatal(err)
		}
		f.follow()
		if _, err := f.store.Change(t.Context(), func(tx *sqlstore.Tx) error { _, err := tx.DeleteUser(u.ID); return err }); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the end of the session", func() bool { return f.by(way, "GET", base+"/items", "").Code == 401 })
	})
}

// Who is signed in stays so while the database is away, and item actions work.
func TestSessionsOutliveTheDatabase(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.user("ann", sqlstore.Operator)
	way := "Cookie: " + f.signedInAs("ann")
	f.by(way, "GET", base+"/items", "").want(t, 200, "")
	f.store.Close()
	f.by(way, "POST", base+"/items/x/activate", "").want(t, 200, "")
	f.by(way, "PATCH", base+"/policies/*", `{"max_waiting":1}`).want(t, 503, "settings_unavailable")
	f.by("Cookie: "+SessionCookie+"=unknown", "GET", base+"/items", "").want(t, 401, "unauthorized")
	f.as("", "POST", base+"/session", signInBody("ann", thePassword)).want(t, 503, "settings_unavailable")
}
