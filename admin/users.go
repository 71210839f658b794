package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/internal/password"
	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/sqlstore"
)

// LinkFor is how long a login link holds.
const LinkFor = 15 * time.Minute

var errOwnAccount = fault.New("own_account", "Nobody takes the own account away, or its role: so one admin always stays. Another admin can.")

// UserView is a user as it is answered, printed and audited.
type UserView struct {
	ID           string        `json:"id"`
	Name         string        `json:"name"`
	Role         sqlstore.Role `json:"role"`
	HasPassword  bool          `json:"has_password"`
	SingleSignOn bool          `json:"single_sign_on"`
	CreatedAt    instant       `json:"created_at"`
	SignedInAt   instant       `json:"signed_in_at"` // last; null = never
}

// ViewUser is a user without what is secret.
func ViewUser(u sqlstore.User) UserView {
	return UserView{u.ID, u.Name, u.Role, u.Password != "", u.Subject != "", instant(u.CreatedAt), instant(u.SignedInAt)}
}

// AddUser makes a user; a password of "" is none: a login link lets such a user in.
func (a *Admin) AddUser(ctx context.Context, by Identity, name string, role sqlstore.Role, plain string) (made sqlstore.User, err error) {
	hash, err := hashOf(ctx, plain)
	if err != nil {
		return made, err
	}
	_, err = a.change(ctx, func(tx *sqlstore.Tx) (err error) {
		if made, err = tx.AddUser(name, role, hash, ""); err != nil {
			return err
		}
		return tx.Audit(Entry(by, "user.add", made.Name, "", nil, ViewUser(made)))
	})
	return made, err
}

func hashOf(ctx context.Context, plain string) (string, error) {
	if plain == "" {
		return "", nil
	}
	return password.Hash(ctx, plain)
}

// UserChange is what to change of a user; nil leaves it.
type UserChange struct {
	Role     *sqlstore.Role
	Password *string // "" takes the password away
}

// ChangeUser changes a user. A new role is in force at once; a new password ends all sessions of the user.
func (a *Admin) ChangeUser(ctx context.Context, by Identity, id string, ch UserChange) (u sqlstore.User, err error) {
	var hash string
	if ch.Password != nil {
		if hash, err = hashOf(ctx, *ch.Password); err != nil {
			return u, err
		}
	}
	_, err = a.change(ctx, func(tx *sqlstore.Tx) (err error) {
		if u, err = tx.User(id); err != nil {
			return err
		}
		before := ViewUser(u)
		if ch.Role != nil && *ch.Role != u.Role {
			if by.Via == ViaSession && by.ID == id {
				return errOwnAccount
			}
			u.Role = *ch.Role
		}
		action := "user.role"
		if ch.Password != nil {
			u.Password, action = hash, "user.password"
		}
		if err := tx.PutUser(u); err != nil {
			return err
		}
		return tx.Audit(Entry(by, action, u.Name, "", before, ViewUser(u)))
	})
	if err == nil {
		a.written(ctx)
	}
	return u, err
}

// DeleteUser removes a user, whose sessions end at once.
func (a *Admin) DeleteUser(ctx context.Context, by Identity, id string) error {
	if by.Via == ViaSession && by.ID == id {
		return errOwnAccount
	}
	_, err := a.change(ctx, func(tx *sqlstore.Tx) error {
		old, err := tx.DeleteUser(id)
		if err != nil {
			return err
		}
		return tx.Audit(Entry(by, "user.remove", old.Name, "", ViewUser(old), nil))
	})
	if err == nil {
		a.written(ctx)
	}
	return err
}

// LoginLink makes the address that signs a user in once, within LinkFor.
func (a *Admin) LoginLink(ctx context.Context, by Identity, id string) (address string, until time.Time, err error) {
	until = a.o.Clock.Now().Add(LinkFor)
	var code string
	_, err = a.change(ctx, func(tx *sqlstore.Tx) error {
		u, err := tx.User(id)
		if err != nil {
			return err
		}
		if code, err = tx.AddLoginLink(u, until); err != nil {
			return err
		}
		return tx.Audit(Entry(by, "user.login_link", u.Name, "", nil, map[string]any{"expires_at": instant(until)}))
	})
	return LinkAddress(a.o.URL.String(), code), until, err
}

// LinkAddress is where a login link leads, at a console of this address: a page that asks before it uses the code up,
// since mail programs look at links too.
func LinkAddress(console, code string) string { return console + "/admin/login?code=" + code }

// listUsers is GET /users.
func (a *Admin) listUsers(c *gin.Context) error {
	all, err := a.o.Store.Users(c.Request.Context())
	if err != nil {
		return err
	}
	views := make([]UserView, 0, len(all))
	for _, u := range all {
		views = append(views, ViewUser(u))
	}
	c.JSON(http.StatusOK, gin.H{"users": views})
	return nil
}

// postUser is POST /users.
func (a *Admin) postUser(c *gin.Context) error {
	var body struct {
		Name     string        `json:"name"`
		Role     sqlstore.Role `json:"role"`
		Password *string       `json:"password"`
	}
	if err := problem.ReadJSON(c, &body); err != nil {
		return err
	}
	plain := ""
	if body.Password != nil {
		if plain = *body.Password; plain == "" {
			return password.ErrLength
		}
	}
	made, err := a.AddUser(c.Request.Context(), who(c), body.Name, body.Role, plain)
	if err != nil {
		return err
	}
	c.JSON(http.StatusCreated, ViewUser(made))
	return nil
}

// patchUser is PATCH /users/{id}: role and password; a password of null takes it away.
func (a *Admin) patchUser(c *gin.Context) error {
	sent, err := problem.ReadBody(c)
	if err != nil {
		return err
	}
	var body struct {
		Role     *sqlstore.Role `json:"role"`
		Password *string        `json:"password"`
	}
	if err := problem.Decode(sent, &body); err != nil {
		return err
	}
	ch := UserChange{Role: body.Role, Password: body.Password}
	switch _, there := fieldsOf(sent)["password"]; {
	case there && body.Password == nil:
		ch.Password = new(string)
	case there && *body.Password == "":
		return password.ErrLength
	}
	if ch == (UserChange{}) {
		return problem.ErrInvalidBody.With("Send role, password or both.")
	}
	u, err := a.ChangeUser(c.Request.Context(), who(c), problem.Param(c, "id"), ch)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, ViewUser(u))
	return nil
}

// deleteUser is DELETE /users/{id}.
func (a *Admin) deleteUser(c *gin.Context) error {
	if err := a.DeleteUser(c.Request.Context(), who(c), problem.Param(c, "id")); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

// postLoginLink is POST /users/{id}/login-link: the one answer that shows the link.
func (a *Admin) postLoginLink(c *gin.Context) error {
	address, until, err := a.LoginLink(c.Request.Context(), who(c), problem.Param(c, "id"))
	if err != nil {
		return err
	}
	c.JSON(http.StatusCreated, gin.H{"url": address, "expires_at": instant(until)})
	return nil
}
