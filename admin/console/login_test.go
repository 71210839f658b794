package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/internal/browsertest"
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
	r := sharedRig(t)
	link := r.user("ann-in", "operator")
	p := browsertest.Open(t, browsertest.Options{})
	p.Pardon("401")
	p.Go(r.console + "/policies")
	p.Eventually(`location.pathname === "/admin/login"`)
	p.Fill("#name", "ann-in")
	p.Fill("#password", "not the pass phrase")
	p.Click("#sign-in")
	p.Has("The name or the password is wrong")
	p.Fill("#password", "a long pass phrase")
	p.Click("#sign-in")
	p.Eventually(`location.pathname === "/admin/policies"`) // where ann wanted to go
	p.Has("ann-in")
	p.Click("#sign-out")
	p.Eventually(`location.pathname === "/admin/login"`)
	p.Go(link)
	p.Click("#sign-in")
	p.Has("ann-in")
	p.Click("#sign-out")
	p.Eventually(`location.pathname === "/admin/login"`)
	p.Go(link)
	p.Click("#sign-in")
	p.Has("or the link has been used")
}

// A provider that cannot be reached is said at the login page, which goes on to work.
func TestTheLoginPageOffersSingleSignOn(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	p := browsertest.Open(t, browsertest.Options{})
	p.Go(r.console + "/login")
	p.Accessible()
	p.Click("#sso")
	p.Has("The sign-in provider cannot be reached.")
	p.Has("Sign in with single sign-on")
}

// Each failure of single sign-on has its words, and a word that nobody knows is not repeated.
func TestFailuresOfSingleSignOnAreSaid(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	for code, want := range map[string]string{
		"sso_unavailable": "The sign-in provider cannot be reached.", "login_failed": "did not let you in", "no_role": "no role here", "too_many_logins": "Too many sign-ins",
		"already_exists": "Somebody else has your name", "invalid_body": "gave no name", "<b>made up</b>": "Single sign-on did not work.",
	} {
		resp, err := r.client.Get(r.console + "/login?error=" + url.QueryEscape(code))
		if err != nil {
			t.Fatal(err)
		}
		page := readAll(t, resp)
		resp.Body.Close()
		if !strings.Contains(page, want) || strings.Contains(page, "made up") {
			t.Errorf("%s is said as\n%s", code, page)
		}
	}
}
