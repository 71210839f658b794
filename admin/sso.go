package admin

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/internal/sso"
)

const (
	// SSOStart is where a browser begins single sign-on: ?to= says where to go afterwards.
	SSOStart = base + "/sso"
	// SSOCallback is where the provider sends the browser back.
	SSOCallback = base + "/sso/callback"

	bySSO      = "single sign-on"
	flowCookie = "sluice_sso"
	flowSeal   = "single sign-on"
)

// SSO is single sign-on. The zero value is off.
type SSO struct {
	Provider *sso.Provider
	Roles    map[string]sqlstore.Role // which role a value of the claim gives; the highest counts
}

// HasSSO reports whether people may sign in by single sign-on.
func (a *Admin) HasSSO() bool { return a.o.SSO.Provider != nil }

// role gives the highest role that the values give; false where they give none.
func (s SSO) role(values []string) (role sqlstore.Role, ok bool) {
	for _, least := range ladder {
		for _, v := range values {
			if s.Roles[v] == least {
				role, ok = least, true
			}
		}
	}
	return role, ok
}

// startSSO is GET /sso: sends the browser to the provider.
func (a *Admin) startSSO(c *gin.Context) error {
	if !a.HasSSO() {
		return sqlstore.ErrNotFound.With("Single sign-on is not set up.")
	}
	address, flow, err := a.o.SSO.Provider.Begin(c.Request.Context(), localPath(c.Query("to")))
	if err != nil {
		return a.backToLogin(c, err)
	}
	text, err := json.Marshal(flow)
	if err != nil {
		return err
	}
	http.SetCookie(c.Writer, a.flowCookie(a.o.Keys.SealText(flowSeal, string(text)), int(sso.FlowFor/time.Second)))
	c.Redirect(http.StatusFound, address)
	return nil
}

// finishSSO is GET /sso/callback: signs in whom the provider names.
func (a *Admin) finishSSO(c *gin.Context) error {
	if !a.HasSSO() {
		return sqlstore.ErrNotFound.With("Single sign-on is not set up.")
	}
	in, to, err := a.signInBySSO(c.Request)
	http.SetCookie(c.Writer, a.flowCookie("", -1))
	if err != nil {
		return a.backToLogin(c, err)
	}
	http.SetCookie(c.Writer, in.Cookie)
	c.Redirect(http.StatusFound, to)
	return nil
}

// backToLogin sends the browser to the login page, which says what the word means; the rest is for the log.
func (a *Admin) backToLogin(c *gin.Context, err error) error {
	code := fault.Code(err)
	if code == "" {
		return err
	}
	a.log.WarnContext(c.Request.Context(), "single sign-on failed", "err", err, "address", a.o.Proxies.Client(c.Request))
	c.Redirect(http.StatusFound, "/admin/login?error="+url.QueryEscape(code))
	return nil
}

func (a *Admin) signInBySSO(r *http.Request) (in SignedIn, to string, err error) {
	if err := a.attempt(r, ""); err != nil {
		return in, "", err
	}
	var flow sso.Flow
	cookie, err := r.Cookie(flowCookie)
	if err != nil {
		return in, "", sso.ErrForeign
	}
	text, ok := a.o.Keys.OpenText(flowSeal, cookie.Value)
	if !ok || json.Unmarshal([]byte(text), &flow) != nil {
		return in, "", sso.ErrForeign
	}
	person, err := a.o.SSO.Provider.Finish(r.Context(), flow, r.URL.Query())
	if err != nil {
		return in, "", err
	}
	role, ok := a.o.SSO.role(person.Values)
	if !ok {
		return in, "", errNoRole
	}
	in, err = a.signIn(r, bySSO, func(tx *sqlstore.Tx) (sqlstore.User, error) {
		return userOfPerson(tx, person, role, a.o.Proxies.Client(r))
	})
	return in, flow.To, err
}

var errNoRole = fault.New("no_role", "You are known, and have no role here: --oidc-role says who has which.")

// userOfPerson gives the user of a person, made at the first sign-in, with the role that the provider's word gives now.
// A local user of the same name is another person: nobody gets in by a name.
func userOfPerson(tx *sqlstore.Tx, p sso.Person, role sqlstore.Role, address string) (sqlstore.User, error) {
	u, err := tx.UserOf(p.Subject)
	if errors.Is(err, sqlstore.ErrNotFound) {
		if u, err = addPerson(tx, p, role); err != nil {
			return u, err
		}
		by := Identity{ID: u.ID, Name: u.Name, Role: role, Via: ViaSession, Address: address}
		return u, tx.Audit(Entry(by, "user.add", u.Name, bySSO, nil, ViewUser(u)))
	}
	if err != nil || u.Role == role {
		return u, err
	}
	before := ViewUser(u)
	u.Role = role
	if err := tx.PutUser(u); err != nil {
		return u, err
	}
	by := Identity{ID: u.ID, Name: u.Name, Role: role, Via: ViaSession, Address: address}
	return u, tx.Audit(Entry(by, "user.role", u.Name, bySSO, before, ViewUser(u)))
}

// addPerson makes the user under the best name that is free and can be one.
func addPerson(tx *sqlstore.Tx, p sso.Person, role sqlstore.Role) (u sqlstore.User, err error) {
	issuer, _, _ := strings.Cut(p.Subject, " ")
	host := issuer
	if at, err := url.Parse(issuer); err == nil {
		host = at.Host
	}
	for _, name := range p.Names {
		for _, form := range []string{name, name + "@" + host} {
			u, err = tx.AddUser(strings.Join(strings.Fields(form), "."), role, "", p.Subject)
			if !errors.Is(err, sqlstore.ErrUserExists) && !errors.Is(err, sqlstore.ErrInvalidUser) {
				return u, err
			}
		}
	}
	return u, err
}

// localPath keeps a path of the console; anything else is its first page.
func localPath(to string) string {
	const first = "/admin/"
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(u.Path, first) || strings.ContainsFunc(to, func(r rune) bool {
		return r <= ' ' || r == '\\' || r == 0x7f
	}) {
		return first
	}
	return to
}

// flowCookie is what the browser keeps between here and the provider. Lax, since the way back begins at another site.
func (a *Admin) flowCookie(value string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: flowCookie, Value: value, Path: SSOStart, MaxAge: maxAge,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: a.o.URL.Scheme == "https",
	}
}

// RolesOf reads which roles the values of a claim give, from "value=role" each.
func RolesOf(rules []string) (map[string]sqlstore.Role, error) {
	roles := map[string]sqlstore.Role{}
	for _, rule := range rules {
		at := strings.LastIndexByte(rule, '=')
		if at < 1 || !sqlstore.Role(rule[at+1:]).ForPeople() {
			return nil, errors.New("is not value=role with a role of viewer, marketer, operator or admin")
		}
		roles[rule[:at]] = sqlstore.Role(rule[at+1:])
	}
	return roles, nil
}
