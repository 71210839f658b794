package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/internal/settings"
)

// Role is what the bearer of a token may do.
type Role string

// The roles. Each may do what the one before it may, except Service, which may only ask for its own users.
const (
	Viewer   Role = "viewer"
	Marketer Role = "marketer"
	Operator Role = "operator"
	Admin    Role = "admin"
	Service  Role = "service"
)

// Roles lists all roles.
func Roles() []Role { return []Role{Viewer, Marketer, Operator, Admin, Service} }

// Valid reports whether the word is a role.
func (r Role) Valid() bool { return slices.Contains(Roles(), r) }

// Token is an API token. The token itself is not kept, only its hash.
type Token struct {
	ID         string
	Hash       settings.Hash
	Name       string
	Role       Role
	CreatedAt  time.Time
	ExpiresAt  time.Time // zero = never
	LastUsedAt time.Time // zero = never
}

// Expired reports whether the token has ended at now.
func (t Token) Expired(now time.Time) bool { return !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt) }

// tokenBytes is the random part of a token.
const tokenBytes = 20

// ErrInvalidToken is a token that cannot be made as asked.
var ErrInvalidToken = fault.New("invalid_body", "name must be a text of 1 to 100 characters.")

// AddToken makes a token and gives it in plain: the only time it can be seen. expires zero = never.
func (t *Tx) AddToken(name string, role Role, expires time.Time) (Token, string, error) {
	name = strings.TrimSpace(name)
	switch {
	case name == "" || len(name) > 100:
		return Token{}, "", ErrInvalidToken
	case !role.Valid():
		return Token{}, "", ErrInvalidToken.With("role must be viewer, marketer, operator, admin or service.")
	case !expires.IsZero() && expires.UnixMilli() <= t.nowMS:
		return Token{}, "", ErrInvalidToken.With("expires_at must be in the future.")
	}
	var b [tokenBytes]byte
	rand.Read(b[:])
	plain := "sluice_" + base64.RawURLEncoding.EncodeToString(b[:])
	made := Token{
		ID: strings.ToLower(rand.Text()[:12]), Hash: settings.HashToken(plain), Name: name, Role: role,
		CreatedAt: fromMS(t.nowMS), ExpiresAt: fromMS(unixMS(expires)),
	}
	t.changed = true
	return made, plain, t.exec(`INSERT INTO tokens (id, hash, name, role, created_ms, expires_ms, last_used_ms) VALUES ($1, $2, $3, $4, $5, $6, 0)`,
		made.ID, made.Hash.String(), name, role, t.nowMS, unixMS(expires))
}

// DeleteToken ends a token at once and gives what it was; ErrNotFound where there is none.
func (t *Tx) DeleteToken(id string) (Token, error) {
	found, err := readTokens(t.ctx, t.tx, `WHERE id = $1`, id)
	if err != nil {
		return Token{}, err
	}
	if len(found) == 0 {
		return Token{}, ErrNotFound.With("There is no such token.")
	}
	t.changed = true
	return found[0], t.exec(`DELETE FROM tokens WHERE id = $1`, id)
}

// Tokens lists all tokens, oldest first.
func (s *Store) Tokens(ctx context.Context) ([]Token, error) {
	all, err := readTokens(ctx, s.read, ``)
	return all, unavailable("list tokens", err)
}

// NoteUses notes when tokens, by id, were last used. It is no change of settings.
func (s *Store) NoteUses(ctx context.Context, last map[string]time.Time) error {
	_, err := s.Change(ctx, func(t *Tx) error {
		for id, at := range last {
			if err := t.exec(`UPDATE tokens SET last_used_ms = $1 WHERE id = $2 AND last_used_ms < $1`, at.UnixMilli(), id); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

func readTokens(ctx context.Context, q querier, where string, args ...any) ([]Token, error) {
	var all []Token
	err := each(ctx, q, `SELECT id, hash, name, role, created_ms, expires_ms, last_used_ms FROM tokens `+where+` ORDER BY created_ms, id`, args,
		func(rows *sql.Rows) error {
			var t Token
			var hash string
			var created, expires, used int64
			if err := rows.Scan(&t.ID, &hash, &t.Name, &t.Role, &created, &expires, &used); err != nil {
				return err
			}
			t.CreatedAt, t.ExpiresAt, t.LastUsedAt = fromMS(created), fromMS(expires), fromMS(used)
			all = append(all, t)
			return all[len(all)-1].Hash.UnmarshalText([]byte(hash))
		})
	return all, err
}
