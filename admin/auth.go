package admin

import (
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/internal/sqlstore"
)

// ladder lists the roles in rising order; each may do what those before it may. Service is not on it.
var ladder = []sqlstore.Role{sqlstore.Viewer, sqlstore.Marketer, sqlstore.Operator, sqlstore.Admin}

// may reports whether a role reaches the least one that is needed. An unknown role reaches nothing.
func may(has, least sqlstore.Role) bool {
	h, l := slices.Index(ladder, has), slices.Index(ladder, least)
	return h >= 0 && l >= 0 && h >= l
}

// Via is how it is known who asks.
type Via string

// The ways.
const (
	ViaToken       Via = "token"
	ViaBootstrap   Via = "bootstrap" // the token of --bootstrap-admin-token
	ViaSession     Via = "session"   // a person's browser
	ViaCommandLine Via = "command line"
)

// Identity is who asks for something, and from where.
type Identity struct {
	ID      string // of the user or the token; "" = neither
	Name    string
	Role    sqlstore.Role
	Via     Via
	Address string // the peer's own, or what a trusted proxy says of it: anything else can be forged
}

// May reports whether the role reaches the least one that is needed.
func (i Identity) May(least sqlstore.Role) bool { return may(i.Role, least) }

const identityKey = "sluice.identity"

// errCrossOrigin is a browser's request that another site's page made.
var errCrossOrigin = fault.New("cross_origin",
	"A page of another origin sent this. Where it was this console's own, behind a proxy: hand on the Host header, or set --admin-url to what browsers see.")

// allow lets only those through who have at least this role: 401 where nobody is known, 403 with too little.
func (a *Admin) allow(least sqlstore.Role) gin.HandlerFunc {
	return problem.Handle(func(c *gin.Context) error {
		who, ok := a.Identify(c.Request)
		switch {
		case !ok && a.CrossOrigin(c.Request) != nil:
			return errCrossOrigin
		case !ok:
			return problem.ErrUnauthorized
		case !who.May(least):
			return problem.ErrForbidden.With(fmt.Sprintf("This needs the role %s; yours is %s.", least, who.Role))
		}
		c.Set(identityKey, who)
		return nil
	})
}

// CrossOrigin refuses requests that change something and come from a page of another origin.
func (a *Admin) CrossOrigin(r *http.Request) error {
	if a.origins.Check(r) != nil {
		return errCrossOrigin
	}
	return nil
}

// Identify tells who sends a request: the bearer of a token, or who is signed in at the browser; false where neither is
// known. Another site's page is nobody, whatever cookie the browser sends along.
func (a *Admin) Identify(r *http.Request) (Identity, bool) {
	who, ok := Identity{}, false
	if bearer := r.Header.Get("Authorization"); bearer != "" {
		scheme, token, _ := strings.Cut(bearer, " ")
		who, ok = a.bearerOf(strings.TrimSpace(token))
		ok = ok && strings.EqualFold(scheme, "Bearer")
	} else if a.CrossOrigin(r) == nil {
		who, ok = a.signedIn(r)
	}
	if !ok {
		return Identity{}, false
	}
	who.Address = a.o.Proxies.Client(r)
	return who, true
}

// bearerOf finds a token by its hash, so that the time it takes tells nothing of the tokens there are.
func (a *Admin) bearerOf(token string) (Identity, bool) {
	if token == "" {
		return Identity{}, false
	}
	hash := settings.HashToken(token)
	if b := a.o.BootstrapToken; b != "" {
		if want := settings.HashToken(b); subtle.ConstantTimeCompare(hash[:], want[:]) == 1 {
			return Identity{Name: "bootstrap", Role: sqlstore.Admin, Via: ViaBootstrap}, true
		}
	}
	t, ok := (*a.tokens.Load())[hash]
	now := a.o.Clock.Now()
	if !ok || t.Expired(now) {
		return Identity{}, false
	}
	a.mu.Lock()
	a.used[t.ID] = now
	a.mu.Unlock()
	return Identity{ID: t.ID, Name: t.Name, Role: t.Role, Via: ViaToken}, true
}

// who is the one that allow let through.
func who(c *gin.Context) Identity { return c.MustGet(identityKey).(Identity) }
