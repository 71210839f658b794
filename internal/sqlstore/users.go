package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sluicehq/sluice/internal/fault"
)

// Faults of users.
var (
	ErrNoUser      = ErrNotFound.With("There is no such user.")
	ErrUserExists  = fault.New("already_exists", "There is a user of this name already.")
	ErrInvalidUser = fault.New("invalid_body", "name must be 1 to 100 characters without spaces or control characters.")
)

// User is a person who signs in.
type User struct {
	ID         string
	Name       string // lower case; what they sign in with
	Role       Role   // not Service
	Password   string // argon2id in PHC form; "" = none: by a link or by single sign-on
	Subject    string // of single sign-on: issuer, a space, the provider's id; "" = none
	CreatedAt  time.Time
	SignedInAt time.Time // last; zero = never
}

// ForPeople reports whether the role is one that a person may have.
func (r Role) ForPeople() bool { return r.Valid() && r != Service }

// AddUser makes a user, with a password that has been hashed, or "" for none.
func (t *Tx) AddUser(name string, role Role, password, subject string) (User, error) {
	u := User{ID: strings.ToLower(rand.Text()[:12]), Name: UserName(name), Role: role, Password: password, Subject: subject, CreatedAt: fromMS(t.nowMS)}
	if !validName(u.Name) {
		return User{}, ErrInvalidUser
	}
	if !role.ForPeople() {
		return User{}, ErrInvalidUser.With("role must be viewer, marketer, operator or admin.")
	}
	same, err := readUsers(t.ctx, t.tx, `WHERE name = $1`, u.Name)
	if err != nil {
		return User{}, err
	}
	if len(same) > 0 {
		return User{}, ErrUserExists
	}
	t.people = true
	return u, t.exec(`INSERT INTO users (id, name, role, password, subject, created_ms, signed_in_ms) VALUES ($1, $2, $3, $4, $5, $6, 0)`,
		u.ID, u.Name, u.Role, u.Password, u.Subject, t.nowMS)
}

// UserName is a name as it is kept and compared: in lower case, without spaces around it.
func UserName(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

func validName(name string) bool {
	n := utf8.RuneCountInString(name)
	return n >= 1 && n <= 100 && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}

// User finds a user by id; ErrNoUser where there is none.
func (t *Tx) User(id string) (User, error) { return t.oneUser(`WHERE id = $1`, id) }

// UserNamed finds a user by name; ErrNoUser where there is none.
func (t *Tx) UserNamed(name string) (User, error) {
	return t.oneUser(`WHERE name = $1`, UserName(name))
}

// UserOf finds the user of a subject of single sign-on; ErrNoUser where there is none.
func (t *Tx) UserOf(subject string) (User, error) { return t.oneUser(`WHERE subject = $1`, subject) }

func (t *Tx) oneUser(where string, arg string) (User, error) {
	found, err := readUsers(t.ctx, t.tx, where, arg)
	if err == nil && (len(found) == 0 || arg == "") {
		err = ErrNoUser
	}
	if err != nil {
		return User{}, err
	}
	return found[0], nil
}

// PutUser writes role, password and subject of a user that exists. With another password all sessions and login links
// of the user end.
func (t *Tx) PutUser(u User) error {
	before, err := t.User(u.ID)
	if err != nil {
		return err
	}
	if !u.Role.ForPeople() {
		return ErrInvalidUser.With("role must be viewer, marketer, operator or admin.")
	}
	t.people = true
	if before.Password != u.Password {
		if err := t.exec(`DELETE FROM sessions WHERE user_id = $1`, u.ID); err != nil {
			return err
		}
		if err := t.exec(`DELETE FROM login_links WHERE user_id = $1`, u.ID); err != nil {
			return err
		}
	}
	return t.exec(`UPDATE users SET role = $1, password = $2, subject = $3 WHERE id = $4`, u.Role, u.Password, u.Subject, u.ID)
}

// DeleteUser removes a user with all sessions, and gives what it was; ErrNoUser where there is none.
func (t *Tx) DeleteUser(id string) (User, error) {
	u, err := t.User(id)
	if err != nil {
		return User{}, err
	}
	t.people = true
	return u, t.exec(`DELETE FROM users WHERE id = $1`, id)
}

// Users lists all users by name.
func (s *Store) Users(ctx context.Context) ([]User, error) {
	all, err := readUsers(ctx, s.read, ``)
	return all, unavailable("list users", err)
}

// UserNamed finds a user by name; ErrNoUser where there is none.
func (s *Store) UserNamed(ctx context.Context, name string) (User, error) {
	found, err := readUsers(ctx, s.read, `WHERE name = $1`, UserName(name))
	if err == nil && len(found) == 0 {
		err = ErrNoUser
	}
	if err != nil {
		return User{}, unavailable("find a user", err)
	}
	return found[0], nil
}

func readUsers(ctx context.Context, q querier, where string, args ...any) ([]User, error) {
	var all []User
	err := each(ctx, q, `SELECT id, name, role, password, subject, created_ms, signed_in_ms FROM users `+where+` ORDER BY name`, args,
		func(rows *sql.Rows) error {
			var u User
			var created, signedIn int64
			if err := rows.Scan(&u.ID, &u.Name, &u.Role, &u.Password, &u.Subject, &created, &signedIn); err != nil {
				return err
			}
			u.CreatedAt, u.SignedInAt = fromMS(created), fromMS(signedIn)
			all = append(all, u)
			return nil
		})
	return all, err
}
