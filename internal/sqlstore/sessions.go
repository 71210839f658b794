package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"time"

	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/internal/settings"
)

// Session is one sign-in of a user at one browser. What the browser keeps is not kept here, only its hash.
type Session struct {
	Hash      settings.Hash
	User      User
	Via       string // how the user signed in
	Address   string // where that came from
	CreatedAt time.Time
	ExpiresAt time.Time
}

// ErrLinkUsed is a login link that holds no more.
var ErrLinkUsed = fault.New("login_failed", "This link has been used, or is too old. Ask for a new one.")

// secret makes what a person's browser keeps or a link carries, in plain and as its hash.
func secret() (plain string, hash settings.Hash) {
	var b [tokenBytes]byte
	rand.Read(b[:])
	plain = base64.RawURLEncoding.EncodeToString(b[:])
	return plain, settings.HashToken(plain)
}

// AddSession signs a user in until expires, and gives what the browser is to keep. Sessions that are over are removed.
func (t *Tx) AddSession(u User, via, address string, expires time.Time) (Session, string, error) {
	plain, hash := secret()
	s := Session{Hash: hash, User: u, Via: via, Address: address, CreatedAt: fromMS(t.nowMS), ExpiresAt: fromMS(unixMS(expires))}
	s.User.SignedInAt = s.CreatedAt
	t.people = true
	if err := t.exec(`DELETE FROM sessions WHERE expires_ms <= $1`, t.nowMS); err != nil {
		return s, "", err
	}
	if err := t.exec(`UPDATE users SET signed_in_ms = $1 WHERE id = $2`, t.nowMS, u.ID); err != nil {
		return s, "", err
	}
	return s, plain, t.exec(`INSERT INTO sessions (hash, user_id, via, address, created_ms, expires_ms) VALUES ($1, $2, $3, $4, $5, $6)`,
		hash.String(), u.ID, via, address, t.nowMS, unixMS(expires))
}

// DeleteSession signs a browser out. It is no error where it was signed out before.
func (t *Tx) DeleteSession(hash settings.Hash) error {
	t.people = true
	return t.exec(`DELETE FROM sessions WHERE hash = $1`, hash.String())
}

// AddLoginLink makes the code of a link that signs a user in once, before expires.
func (t *Tx) AddLoginLink(u User, expires time.Time) (code string, err error) {
	code, hash := secret()
	if err := t.exec(`DELETE FROM login_links WHERE expires_ms <= $1`, t.nowMS); err != nil {
		return "", err
	}
	return code, t.exec(`INSERT INTO login_links (hash, user_id, expires_ms) VALUES ($1, $2, $3)`, hash.String(), u.ID, unixMS(expires))
}

// UseLoginLink ends a link and gives whom it signs in; ErrLinkUsed where it holds no more.
func (t *Tx) UseLoginLink(code string) (User, error) {
	hash := settings.HashToken(code).String()
	found, err := readUsers(t.ctx, t.tx, `WHERE id IN (SELECT user_id FROM login_links WHERE hash = $1 AND expires_ms > $2)`, hash, t.nowMS)
	if err != nil {
		return User{}, err
	}
	if len(found) == 0 {
		return User{}, ErrLinkUsed
	}
	return found[0], t.exec(`DELETE FROM login_links WHERE hash = $1`, hash)
}

// People are all sessions with their users, as of one version.
type People struct {
	Version  int64
	Sessions []Session
}

// People reads who is signed in, as of one instant.
func (s *Store) People(ctx context.Context) (People, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var p People
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return p, unavailable("read sessions", err)
	}
	defer tx.Rollback() // read only
	if err := tx.QueryRowContext(ctx, `SELECT people FROM settings_meta`).Scan(&p.Version); err != nil {
		return p, unavailable("read sessions", err)
	}
	users, err := readUsers(ctx, tx, ``)
	if err != nil {
		return p, unavailable("read users", err)
	}
	byID := make(map[string]User, len(users))
	for _, u := range users {
		byID[u.ID] = u
	}
	err = each(ctx, tx, `SELECT hash, user_id, via, address, created_ms, expires_ms FROM sessions WHERE expires_ms > $1`, []any{s.nowMS()},
		func(rows *sql.Rows) error {
			var one Session
			var hash, user string
			var created, expires int64
			if err := rows.Scan(&hash, &user, &one.Via, &one.Address, &created, &expires); err != nil {
				return err
			}
			one.User, one.CreatedAt, one.ExpiresAt = byID[user], fromMS(created), fromMS(expires)
			p.Sessions = append(p.Sessions, one)
			return p.Sessions[len(p.Sessions)-1].Hash.UnmarshalText([]byte(hash))
		})
	return p, unavailable("read sessions", err)
}
