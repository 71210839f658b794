package admin

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

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

// Identity is who asks for something, and from where.
type Identity struct {
	ID      string // "" = the bootstrap token
	Name    string
	Role    sqlstore.Role
	Address string // the peer's own: what a header says of it can be forged
}

// May reports whether the role reaches the least one that is needed.
func (i Identity) May(least sqlstore.Role) bool { return may(i.Role, least) }

const identityKey = "sluice.identity"

// allow lets only those through whose token has at least this role: 401 without a valid token, 403 with too little.
func (a *Admin) allow(least sqlstore.Role) gin.HandlerFunc {
	return problem.Handle(func(c *gin.Context) error {
		who, ok := a.Identify(c.Request)
		switch {
		case !ok:
			return problem.ErrUnauthorized
		case !who.May(least):
			return problem.ErrForbidden.With(fmt.Sprintf("This needs the role %s; the token's is %s.", least, who.Role))
		}
		c.Set(identityKey, who)
		return nil
	})
}

// Identify tells who sends a request; false where nobody that is known does.
func (a *Admin) Identify(r *http.Request) (Identity, bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	who, ok := a.bearerOf(strings.TrimSpace(token))
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return Identity{}, false
	}
	if who.Address, _, _ = net.SplitHostPort(r.RemoteAddr); who.Address == "" {
		who.Address = r.RemoteAddr
	}
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
			return Identity{Name: "bootstrap", Role: sqlstore.Admin}, true
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
	return Identity{ID: t.ID, Name: t.Name, Role: t.Role}, true
}

// who is the one that allow let through.
func who(c *gin.Context) Identity { return c.MustGet(identityKey).(Identity) }

// loadTokens reads all tokens into memory.
func (a *Admin) loadTokens(ctx context.Context) error {
	version, err := a.o.Store.Version(ctx)
	if err != nil {
		return err
	}
	all, err := a.o.Store.Tokens(ctx)
	if err != nil {
		return err
	}
	byHash := make(map[settings.Hash]sqlstore.Token, len(all))
	for _, t := range all {
		byHash[t.Hash] = t
	}
	a.tokens.Store(&byHash)
	a.tokensVersion.Store(version) // read before the tokens: at worst they are read once more
	return nil
}

// entry begins the audit of a write: who, from where, what, and why. Before and after are written as JSON; nil = none.
func entry(by Identity, action, subject, reason string, before, after any) sqlstore.AuditEntry {
	return sqlstore.AuditEntry{
		Who: by.Name, Role: by.Role, Address: by.Address, Action: action, Subject: subject, Reason: reason,
		Before: jsonText(before), After: jsonText(after),
	}
}

func jsonText(v any) string {
	if v == nil {
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// instant is a time in answers: RFC 3339 in UTC with milliseconds, null for the zero time.
type instant time.Time

// MarshalJSON writes it.
func (i instant) MarshalJSON() ([]byte, error) {
	t := time.Time(i)
	if t.IsZero() {
		return []byte("null"), nil
	}
	return t.UTC().AppendFormat(nil, `"2006-01-02T15:04:05.000Z"`), nil
}

// msInstant is that of unix milliseconds; 0 = null.
func msInstant(ms int64) instant {
	if ms == 0 {
		return instant{}
	}
	return instant(time.UnixMilli(ms))
}

// orNil gives nil for the zero value, which JSON writes as null.
func orNil[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
