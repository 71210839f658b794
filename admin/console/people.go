package console

import (
	"net/http"
	"time"

	"github.com/sluicehq/sluice/admin"
	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/sqlstore"
)

// peopleBody is what the page of users and tokens shows.
type peopleBody struct {
	Users  []sqlstore.User
	Tokens []sqlstore.Token
	Now    time.Time
	Fault  string
	Secret *secret // shown this once
	Form   map[string]string
	User   sqlstore.User // of a question
}

// secret is something that is shown once.
type secret struct {
	Title, Hint, Text string
}

// UserRoles are those that people may have; tokens may also be service.
func (p *page) UserRoles() []sqlstore.Role {
	return []sqlstore.Role{sqlstore.Viewer, sqlstore.Marketer, sqlstore.Operator, sqlstore.Admin}
}

// TokenRoles are those that tokens may have.
func (p *page) TokenRoles() []sqlstore.Role { return sqlstore.Roles() }

// people is GET /people.
func (c *Console) people(p *page) error { return c.showPeople(p, http.StatusOK, peopleBody{}) }

func (c *Console) showPeople(p *page, status int, b peopleBody) error {
	ctx := p.gin.Request.Context()
	var err error
	if b.Users, err = c.o.Store.Users(ctx); err != nil {
		return err
	}
	if b.Tokens, err = c.o.Store.Tokens(ctx); err != nil {
		return err
	}
	b.Now = c.o.Clock.Now()
	p.Section, p.Title, p.Body = "people", p.Text("people.title"), b
	return p.show(status, "people")
}

// refuse shows the page again with what was wrong, where that is the reader's to mend.
func (c *Console) refuse(p *page, err error, form map[string]string) error {
	of := problem.Of(err)
	if of.Status >= http.StatusInternalServerError {
		return err
	}
	problem.Note(p.gin, err)
	return c.showPeople(p, of.Status, peopleBody{Fault: p.faultText(err), Form: form})
}

// addUser is POST /people/users.
func (c *Console) addUser(p *page) error {
	form := p.form()
	name, role, plain := form.Get("name"), sqlstore.Role(form.Get("role")), form.Get("password")
	made, err := c.o.Admin.AddUser(p.gin.Request.Context(), p.Who, name, role, plain)
	if err != nil {
		return c.refuse(p, err, map[string]string{"name": name, "role": string(role)})
	}
	if plain != "" {
		return p.redirect(base + "/people")
	}
	return c.showLink(p, made)
}

// showLink shows a login link, this once.
func (c *Console) showLink(p *page, u sqlstore.User) error {
	address, until, err := c.o.Admin.LoginLink(p.gin.Request.Context(), p.Who, u.ID)
	if err != nil {
		return c.refuse(p, err, nil)
	}
	return c.showPeople(p, http.StatusOK, peopleBody{Secret: &secret{
		Title: p.Text("people.link_for", "name", u.Name), Hint: p.Text("people.link_hint", "until", p.When(until)), Text: address,
	}})
}

// linkUser is POST /people/users/{id}/link.
func (c *Console) linkUser(p *page) error {
	u, err := c.userOf(p)
	if err != nil {
		return err
	}
	return c.showLink(p, u)
}

func (c *Console) userOf(p *page) (sqlstore.User, error) {
	users, err := c.o.Store.Users(p.gin.Request.Context())
	if err != nil {
		return sqlstore.User{}, err
	}
	for _, u := range users {
		if u.ID == problem.Param(p.gin, "id") {
			return u, nil
		}
	}
	return sqlstore.User{}, sqlstore.ErrNoUser
}

// changeUser is POST /people/users/{id}/role.
func (c *Console) changeUser(p *page) error {
	role := sqlstore.Role(p.form().Get("role"))
	if _, err := c.o.Admin.ChangeUser(p.gin.Request.Context(), p.Who, problem.Param(p.gin, "id"), admin.UserChange{Role: &role}); err != nil {
		return c.refuse(p, err, nil)
	}
	return p.redirect(base + "/people")
}

// askUser is GET /people/users/{id}: the role of a user, a link, and the way out.
func (c *Console) askUser(p *page) error {
	u, err := c.userOf(p)
	if err != nil {
		return err
	}
	p.Section, p.Title, p.Body = "people", u.Name, peopleBody{User: u}
	return p.showDialog("user")
}

// deleteUser is POST /people/users/{id}/delete.
func (c *Console) deleteUser(p *page) error {
	if err := c.o.Admin.DeleteUser(p.gin.Request.Context(), p.Who, problem.Param(p.gin, "id")); err != nil {
		return c.refuse(p, err, nil)
	}
	return p.redirect(base + "/people")
}

// addToken is POST /people/tokens.
func (c *Console) addToken(p *page) error {
	form := p.form()
	var expires time.Time
	if day := form.Get("expires"); day != "" {
		at, err := time.ParseInLocation("2006-01-02", day, p.Zone)
		if err != nil {
			return c.refuse(p, problem.ErrInvalidBody.With(p.Text("fault.date")), nil)
		}
		expires = at
	}
	name, role := form.Get("name"), sqlstore.Role(form.Get("role"))
	made, plain, err := c.o.Admin.AddToken(p.gin.Request.Context(), p.Who, name, role, expires)
	if err != nil {
		return c.refuse(p, err, map[string]string{"token": name, "token_role": string(role)})
	}
	return c.showPeople(p, http.StatusOK, peopleBody{Secret: &secret{
		Title: p.Text("people.token_for", "name", made.Name), Hint: p.Text("people.token_hint"), Text: plain,
	}})
}

// deleteToken is POST /people/tokens/{id}/delete.
func (c *Console) deleteToken(p *page) error {
	if err := c.o.Admin.DeleteToken(p.gin.Request.Context(), p.Who, problem.Param(p.gin, "id")); err != nil {
		return c.refuse(p, err, nil)
	}
	return p.redirect(base + "/people")
}
