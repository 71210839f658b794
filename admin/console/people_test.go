package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/internal/browsertest"
)

// An admin makes a user, changes the role, gives a link, and takes the user away; a token is shown once, and ended.
func TestUsersAndTokensAreManaged(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	p := r.as("root-of-people", "admin", browsertest.Options{})
	p.Pardon("400")
	p.Go(r.console + "/people")
	row := func(name string) string {
		return `[...document.querySelectorAll("tbody tr")].find(e => e.querySelector("th").textContent.includes("` + name + `"))`
	}
	fill := func(form, name, role string) {
		p.Fill(form+" [name=name]", name)
		pick(p, form+" [name=role]", role)
		p.Click(form + " button")
	}
	const users, tokens = `form[action="/admin/people/users"]`, `form[action="/admin/people/tokens"]`
	fill(users, "two words", "viewer")
	p.Has("that of a user has no spaces")
	fill(users, "managed", "viewer")
	p.Eventually(row("managed") + `?.textContent.includes("viewer")`)
	change := func() {
		t.Helper()
		p.Go(r.console + "/people") // whole: without its script the link leads to a page
		browsertest.Evaluate[bool](p, `(`+row("managed")+`.querySelector("a").click(), true)`)
		p.Eventually(`document.getElementById("dialog").open`)
	}
	change()
	p.Accessible()
	pick(p, "#user-role", "operator")
	p.Click(`#dialog form[action$="/role"] button`)
	p.Eventually(row("managed") + `?.textContent.includes("operator")`)
	change()
	p.Click(`#dialog form[action$="/link"] button`)
	if link := p.Text("#secret-text"); !strings.Contains(link, "/admin/login?code=") {
		t.Errorf("the link is %q", link)
	}
	change()
	p.Click(`#dialog form[action$="/delete"] button.bad`)
	p.Eventually(`!` + row("managed"))

	fill(tokens, "of the shop", "service")
	p.Has("It is shown this once.")
	token := p.Text("#secret-text")
	if !strings.HasPrefix(token, "sluice_") {
		t.Errorf("the token is %q", token)
	}
	p.Go(r.console + "/people")
	if again := browsertest.Evaluate[bool](p, `document.body.textContent.includes("`+token+`")`); again {
		t.Error("the token is shown again")
	}
	p.Eventually(`(` + row("of the shop") + `.querySelector("button").click(), true)`)
	p.Eventually(`!` + row("of the shop"))
	for _, user := range r.api(http.MethodGet, "/users", nil)["users"].([]any) {
		if user.(map[string]any)["name"] == "managed" {
			t.Error("the user is still there")
		}
	}
}
