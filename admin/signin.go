package admin

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/internal/password"
	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/internal/sqlstore"
)

const (
	// SessionCookie is the cookie of who is signed in.
	SessionCookie = "sluice_session"
	// sessionFor is how long a sign-in holds, whatever happens meanwhile: a working day and the night after it.
	sessionFor = 24 * time.Hour
)

// How people sign in.
const (
	byPassword = "password"
	byLink     = "link"
)

var errLogin = fault.New("login_failed", "The name or the password is wrong.")

// SignedIn is a sign-in that has happened.
type SignedIn struct {
	Who    Identity
	Until  time.Time
	Cookie *http.Cookie // for the browser to keep
}

// SignIn signs a user in by name and password. Wrong ones are counted, by name and by address: TooManyLogins past what
// a person mistypes.
func (a *Admin) SignIn(r *http.Request, name, plain string) (SignedIn, error) {
	name = sqlstore.UserName(name)
	if err := a.attempt(r, name); err != nil {
		return SignedIn{}, err
	}
	ctx := r.Context()
	u, err := a.o.Store.UserNamed(ctx, name)
	if err != nil && !errors.Is(err, sqlstore.ErrNotFound) {
		return SignedIn{}, err
	}
	ok, err := password.Matches(ctx, plain, u.Password) // nobody's takes as long as anybody's
	if err != nil {
		return SignedIn{}, err
	}
	if !ok {
		a.log.WarnContext(ctx, "sign-in refused", "known", u.ID != "", "address", a.o.Proxies.Client(r))
		return SignedIn{}, errLogin
	}
	return a.signIn(r, byPassword, func(tx *sqlstore.Tx) (sqlstore.User, error) {
		now, err := tx.User(u.ID)
		if err == nil && now.Password != u.Password { // changed while it was checked
			err = errLogin
		}
		return now, err
	})
}

// SignInByLink signs in whom a login link was made for. The link holds once.
func (a *Admin) SignInByLink(r *http.Request, code string) (SignedIn, error) {
	if err := a.attempt(r, ""); err != nil {
		return SignedIn{}, err
	}
	return a.signIn(r, byLink, func(tx *sqlstore.Tx) (sqlstore.User, error) { return tx.UseLoginLink(code) })
}

// attempt counts one try to sign in.
func (a *Admin) attempt(r *http.Request, name string) error {
	if err := a.CrossOrigin(r); err != nil {
		return err // another site must not sign a browser in, either
	}
	return a.logins.attempt(name, a.o.Proxies.Client(r), a.o.Clock.Now())
}

// signIn makes the session of the user that find gives.
func (a *Admin) signIn(r *http.Request, via string, find func(*sqlstore.Tx) (sqlstore.User, error)) (SignedIn, error) {
	ctx := r.Context()
	until := a.o.Clock.Now().Add(sessionFor)
	address := a.o.Proxies.Client(r)
	var s sqlstore.Session
	var plain string
	_, err := a.change(ctx, func(tx *sqlstore.Tx) error {
		u, err := find(tx)
		if err != nil {
			return err
		}
		if s, plain, err = tx.AddSession(u, via, address, until); err != nil {
			return err
		}
		return tx.Audit(Entry(identityOf(s, address), "session.start", u.Name, "", nil, map[string]any{"via": via, "expires_at": instant(until)}))
	})
	if err != nil {
		return SignedIn{}, err
	}
	a.logins.forgive(s.User.Name, address)
	a.written(ctx)
	return SignedIn{Who: identityOf(s, address), Until: until, Cookie: a.cookie(plain)}, nil
}

// SignOut ends the session that a request comes with, and gives the cookie that takes the browser's away. It is no
// error where there is none.
func (a *Admin) SignOut(r *http.Request) (*http.Cookie, error) {
	gone := a.cookie("")
	who, ok := a.Identify(r)
	if !ok || who.Via != ViaSession {
		return gone, nil
	}
	c, err := r.Cookie(SessionCookie)
	if err != nil {
		return gone, nil
	}
	_, err = a.change(r.Context(), func(tx *sqlstore.Tx) error {
		return errors.Join(tx.DeleteSession(settings.HashToken(c.Value)), tx.Audit(Entry(who, "session.end", who.Name, "", nil, nil)))
	})
	if err == nil {
		a.written(r.Context())
	}
	return gone, err
}

// cookie is the session's; an empty one takes the browser's away.
func (a *Admin) cookie(value string) *http.Cookie {
	c := &http.Cookie{
		Name: SessionCookie, Value: value, Path: "/", MaxAge: int(sessionFor / time.Second),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: a.o.URL.Scheme == "https",
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

// signedIn is who is signed in at the browser that sends a request.
func (a *Admin) signedIn(r *http.Request) (Identity, bool) {
	c, err := r.Cookie(SessionCookie)
	if err != nil || c.Value == "" {
		return Identity{}, false
	}
	s, ok := a.session(r.Context(), settings.HashToken(c.Value))
	if !ok || !a.o.Clock.Now().Before(s.ExpiresAt) {
		return Identity{}, false
	}
	return identityOf(s, ""), true
}

func identityOf(s sqlstore.Session, address string) Identity {
	return Identity{ID: s.User.ID, Name: s.User.Name, Role: s.User.Role, Via: ViaSession, Address: address}
}

// session finds a session in memory; one that another node has just begun is in the database alone.
func (a *Admin) session(ctx context.Context, hash settings.Hash) (sqlstore.Session, bool) {
	if s, ok := a.sessions.Load().byHash[hash]; ok {
		return s, true
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := a.catchUp(ctx); err != nil {
		a.log.DebugContext(ctx, "unknown session, and the database does not answer", "err", err)
	}
	s, ok := a.sessions.Load().byHash[hash]
	return s, ok
}

// sessionView is who is asking.
type sessionView struct {
	Name    string        `json:"name"`
	Role    sqlstore.Role `json:"role"`
	Via     Via           `json:"via"`
	Expires instant       `json:"expires_at"` // of a session that has just begun; null else
}

// getSession is GET /session: who is asking, for whom a cookie or a token is all they have.
func (a *Admin) getSession(c *gin.Context) error {
	w := who(c)
	c.JSON(http.StatusOK, sessionView{Name: w.Name, Role: w.Role, Via: w.Via})
	return nil
}

// postSession is POST /session: signs in, by name and password or by a link's code, and sets the cookie.
func (a *Admin) postSession(c *gin.Context) error {
	var body struct {
		User     *string `json:"user"`
		Password *string `json:"password"`
		Code     *string `json:"code"`
	}
	if err := problem.ReadJSON(c, &body); err != nil {
		return err
	}
	var in SignedIn
	var err error
	switch {
	case body.Code != nil && body.User == nil && body.Password == nil:
		in, err = a.SignInByLink(c.Request, *body.Code)
	case body.Code == nil && body.User != nil && body.Password != nil:
		in, err = a.SignIn(c.Request, *body.User, *body.Password)
	default:
		err = problem.ErrInvalidBody.With("Send user and password, or code.")
	}
	if err != nil {
		return retryLater(c, err)
	}
	http.SetCookie(c.Writer, in.Cookie)
	c.JSON(http.StatusOK, sessionView{in.Who.Name, in.Who.Role, in.Who.Via, instant(in.Until)})
	return nil
}

// deleteSession is DELETE /session: signs out.
func (a *Admin) deleteSession(c *gin.Context) error {
	gone, err := a.SignOut(c.Request)
	if err != nil {
		return err
	}
	http.SetCookie(c.Writer, gone)
	c.Status(http.StatusNoContent)
	return nil
}
