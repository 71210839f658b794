package admin

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/sqlstore"
)

// tokenView is a token without the token.
type tokenView struct {
	ID        string        `json:"id"`
	Name      string        `json:"name"`
	Role      sqlstore.Role `json:"role"`
	CreatedAt instant       `json:"created_at"`
	ExpiresAt instant       `json:"expires_at"`   // null = never
	LastUsed  instant       `json:"last_used_at"` // null = never, or not noted yet; not kept for service tokens
}

func viewToken(t sqlstore.Token) tokenView {
	return tokenView{t.ID, t.Name, t.Role, instant(t.CreatedAt), instant(t.ExpiresAt), instant(t.LastUsedAt)}
}

// listTokens is GET /tokens.
func (a *Admin) listTokens(c *gin.Context) error {
	all, err := a.o.Store.Tokens(c.Request.Context())
	if err != nil {
		return err
	}
	views := make([]tokenView, 0, len(all))
	for _, t := range all {
		views = append(views, viewToken(t))
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
	var made sqlstore.Token
	var plain string
	_, err := a.change(c.Request.Context(), func(tx *sqlstore.Tx) (err error) {
		if made, plain, err = tx.AddToken(body.Name, body.Role, expires); err != nil {
			return err
		}
		return tx.Audit(entry(c, "token.add", made.ID, "", nil, viewToken(made)))
	})
	if err != nil {
		return err
	}
	if err := a.loadTokens(c.Request.Context()); err != nil {
		return err
	}
	c.JSON(http.StatusCreated, struct {
		tokenView
		Token string `json:"token"`
	}{viewToken(made), plain})
	return nil
}

// deleteToken is DELETE /tokens/{id}: it is good for nothing from now on.
func (a *Admin) deleteToken(c *gin.Context) error {
	id := problem.Param(c, "id")
	_, err := a.change(c.Request.Context(), func(tx *sqlstore.Tx) error {
		old, err := tx.DeleteToken(id)
		if err != nil {
			return err
		}
		return tx.Audit(entry(c, "token.delete", id, "", viewToken(old), nil))
	})
	if err != nil {
		return err
	}
	if err := a.loadTokens(c.Request.Context()); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}
