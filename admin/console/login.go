package console

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"github.com/sluicehq/sluice/admin"
	"github.com/sluicehq/sluice/internal/problem"
)

// loginBody is what the login page shows.
type loginBody struct {
	To    string // where to go afterwards
	Code  string // of a login link: the page asks before it uses the code up
	Name  string
	Fault string
	SSO   string // where single sign-on begins; "" = it is not set up
}

// askLogin is GET /login.
func (c *Console) askLogin(p *page) error {
	to := within(p.gin.Query("to"))
	if p.Who.Name != "" {
		return p.redirect(to)
	}
	b := loginBody{To: to, Code: p.gin.Query("code")}
	if code := p.gin.Query("error"); code != "" { // single sign-on came back without anybody
		b.Fault = p.Text("login.sso_failed")
		if id := "login.sso." + code; p.Has(id) {
			b.Fault = p.Text(id)
		}
	}
	return p.showLogin(http.StatusOK, b)
}

func (p *page) showLogin(status int, b loginBody) error {
	if p.c.o.Admin.HasSSO() {
		b.SSO = admin.SSOStart + "?" + url.Values{"to": {b.To}}.Encode()
	}
	p.Title, p.Body = p.Text("login.title"), b
	return p.show(status, "login")
}

// login is POST /login.
func (c *Console) login(p *page) error {
	form := p.form()
	b := loginBody{To: within(form.Get("to")), Code: form.Get("code"), Name: form.Get("name")}
	var in admin.SignedIn
	var err error
	if b.Code != "" {
		in, err = c.o.Admin.SignInByLink(p.gin.Request, b.Code)
	} else {
		in, err = c.o.Admin.SignIn(p.gin.Request, b.Name, form.Get("password"))
	}
	if err != nil {
		of, there := problem.Note(p.gin, err)
		if !there {
			return nil
		}
		b.Fault = p.faultText(err)
		var later *admin.TooManyLogins
		if errors.As(err, &later) {
			p.gin.Header("Retry-After", strconv.Itoa(int(math.Ceil(later.Wait.Seconds()))))
			b.Fault = p.Text("login.later", "wait", p.Span(later.Wait))
		}
		return p.showLogin(of.Status, b)
	}
	http.SetCookie(p.gin.Writer, in.Cookie)
	return p.redirect(b.To)
}

// logout is POST /logout.
func (c *Console) logout(p *page) error {
	gone, err := c.o.Admin.SignOut(p.gin.Request)
	if err != nil {
		return err
	}
	http.SetCookie(p.gin.Writer, gone)
	return p.redirect(base + "/login")
}
