package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/sqlstore"
)

// TokenView is a token without the token, as it is answered, printed and audited.
type TokenView struct {
	ID        string        `json:"id"`
	Name      string        `json:"name"`
	Role      sqlstore.Role `json:"role"`
	CreatedAt instant       `json:"created_at"`
	ExpiresAt instant       `json:"expires_at"`   // null = never
	LastUsed  instant       `json:"last_used_at"` // null = never, or not noted yet; not kept for service tokens
}

// ViewToken is a token without what is secret.
func ViewToken(t sqlstore.Token) TokenView {
	return TokenView{t.ID, t.Name, t.Role, instant(t.CreatedAt), instant(t.ExpiresAt), instant(t.LastUsedAt)}
}

// listTokens is GET /tokens.
func (a *Admin) listTokens(c *gin.Context) error {
	all, err := a.o.Store.Tokens(c.Request.Context())
	if err != nil {
		return err
	}
	views := make([]TokenView, 0, len(all))
	for _, t := range all {
		views = append(views, ViewToken(t))
	}
	c.JSON(http.StatusOK, gin.H{"tokens": views})
	return nil
}

// postToken is POST /tokens: the one answer that shows the token.
func (a *Admin) postToken(c *gin.Context) error {
	var body struct {
		Name      string        `json:"name"`
		Role      sqlstore.Role `json:"role"`
		ExpiresAt *string       `json:"expires_at"`
	}
	if err := problem.ReadJSON(c, &body); err != nil {
		return err
	}
	var expires time.Time
	if body.ExpiresAt != nil {
		var err error
		if expires, err = time.Parse(time.RFC3339, *body.ExpiresAt); err != nil {
			return problem.ErrInvalidBody.With("expires_at must be an instant such as 2026-12-01T11:00:00Z, or null.")
		}
	}
	made, plain, err := a.AddToken(c.Request.Context(), who(c), body.Name, body.Role, expires)
	if err != nil {
		return err
	}
	c.JSON(http.StatusCreated, struct {
		TokenView
		Token string `json:"token"`
	}{ViewToken(made), plain})
	return nil
}

// AddToken makes a token and gives it in plain, for the only time. expires zero = never.
func (a *Admin) AddToken(ctx context.Context, by Identity, name string, role sqlstore.Role, expires time.Time) (made sqlstore.Token, plain string, err error) {
	_, err = a.change(ctx, func(tx *sqlstore.Tx) (err error) {
		if made, plain, err = tx.AddToken(name, role, expires); err != nil {
			return err
		}
		return tx.Audit(Entry(by, "token.add", made.ID, "", nil, ViewToken(made)))
	})
	if err != nil {
		return made, "", err
	}
	a.written(ctx)
	return made, plain, nil
}

// deleteToken is DELETE /tokens/{id}: it is good for nothing from now on.
func (a *Admin) deleteToken(c *gin.Context) error {
	if err := a.DeleteToken(c.Request.Context(), who(c), problem.Param(c, "id")); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

// DeleteToken ends a token at once.
func (a *Admin) DeleteToken(ctx context.Context, by Identity, id string) error {
	_, err := a.change(ctx, func(tx *sqlstore.Tx) error {
		old, err := tx.DeleteToken(id)
		if err != nil {
			return err
		}
		return tx.Audit(Entry(by, "token.delete", id, "", ViewToken(old), nil))
	})
	if err == nil {
		a.written(ctx)
	}
	return err
}
