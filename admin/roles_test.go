package admin

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/sqlstore"
)

// open are the addresses that ask for no role, each with its reason. Everything else is in the table.
var open = map[string]string{
	"GET /admin/api/openapi.json": "says nothing about this installation",
	"GET /admin/api/docs":         "the same, as a page",
}

// Every role on every route, by token and by session: 401 without, 403 with too little, else neither.
func TestRoles(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	ways := map[string]sqlstore.Role{} // header line -> role
	for _, role := range sqlstore.Roles() {
		ways["Authorization: Bearer "+f.token(role)] = role
		if role.ForPeople() {
			f.user("the-"+string(role), role)
		}
	}
	for _, r := range f.table() {
		if r.path == "/events" {
			continue // a stream has no end; TestStream asks for it
		}
		if r.least == anybody {
			continue // TestSignIn
		}
		path := base + strings.NewReplacer(":pattern", "p", ":item", "x", ":visitor", "abcdefghijklmnop", ":id", "none", ":delivery", "1").Replace(r.path)
		for _, bad := range []string{"", "Authorization: Bearer sluice_nonsense", "Authorization: Bearer " + root + "x", "Authorization: Basic " + root,
			"Authorization: " + root, "Cookie: sluice_session=nonsense", "Cookie: sluice_session="} {
			got := f.by(bad, r.method, path, `{}`).want(t, 401, "unauthorized")
			if got.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s %s: no WWW-Authenticate", r.method, path)
			}
		}
		check := func(way string, role sqlstore.Role) {
			got := f.by(way, r.method, path, `{}`)
			allowed := got.Code != http.StatusForbidden && got.Code != http.StatusUnauthorized
			want := may(role, r.least) && (r.method != "PATCH" || role != sqlstore.Marketer || r.least != sqlstore.Marketer) // marketer: TestMarketer…
			if allowed != want {
				t.Errorf("%s %s by %s (%s): %d %s", r.method, path, role, way[:6], got.Code, got.Body)
			}
		}
		for way, role := range ways {
			check(way, role)
		}
		for _, role := range []sqlstore.Role{sqlstore.Viewer, sqlstore.Marketer, sqlstore.Operator, sqlstore.Admin} {
			check("Cookie: "+f.signedInAs("the-"+string(role)), role) // anew, since one route signs out
		}
	}
}

// Nothing is served beside the table but what is open for a reason.
func TestNoRouteIsBesideTheTable(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	known := map[string]bool{}
	for _, r := range f.table() {
		if r.least == "" {
			t.Errorf("%s %s says nobody who may", r.method, r.path)
		}
		known[r.method+" "+base+r.path] = true
	}
	for _, r := range f.Handler().(*gin.Engine).Routes() {
		name := r.Method + " " + r.Path
		if !known[name] && open[name] == "" {
			t.Errorf("%s is served, and neither in the table nor open for a reason", name)
		}
	}
}

func TestNoRoleIsDefaultDeny(t *testing.T) {
	t.Parallel()
	for _, has := range append(sqlstore.Roles(), "", "root", anybody) {
		for _, least := range []sqlstore.Role{"", "root", sqlstore.Service, anybody} {
			if may(has, least) {
				t.Errorf("%q may what needs %q", has, least)
			}
		}
	}
}

const thePassword = "correct horse"

// user makes a user with thePassword.
func (f *fixture) user(name string, role sqlstore.Role) (id string) {
	f.t.Helper()
	return f.do("POST", base+"/users", fmt.Sprintf(`{"name":%q,"role":%q,"password":%q}`, name, role, thePassword)).want(f.t, 201, "").JSON["id"].(string)
}

// signedInAs signs a user in and gives the cookie to send.
func (f *fixture) signedInAs(name string) string {
	f.t.Helper()
	u, err := f.store.UserNamed(f.t.Context(), name)
	if err != nil {
		f.t.Fatal(err)
	}
	var plain string
	if _, err := f.store.Change(f.t.Context(), func(tx *sqlstore.Tx) (err error) {
		_, plain, err = tx.AddSession(u, byPassword, "198.51.100.4", f.hand.Now().Add(sessionFor))
		return err
	}); err != nil {
		f.t.Fatal(err)
	}
	return SessionCookie + "=" + plain
}

// by sends a request with one more header line, "Name: value".
func (f *fixture) by(way, method, path, body string) answer {
	f.t.Helper()
	if way == "" {
		return f.as("", method, path, body)
	}
	name, value, _ := strings.Cut(way, ": ")
	return f.as("", method, path, body, name, value)
}
