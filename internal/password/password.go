// Package password hashes passwords by Argon2id (RFC 9106) and checks them.
package password

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"

	"github.com/sluicehq/sluice/internal/fault"
)

// Lengths of a password, in characters.
const (
	Shortest = 10
	Longest  = 200
)

// ErrLength is a password that is too short or too long.
var ErrLength = fault.New("invalid_body", fmt.Sprintf("password must be %d to %d characters.", Shortest, Longest))

// params are the least that OWASP's cheat sheet on password storage takes for Argon2id: 19 MiB, two passes, one lane.
var params = &argon2id.Params{Memory: 19 << 10, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// atOnce bounds the memory and the processors that hashing takes: so many at a time, the others wait.
var atOnce = make(chan struct{}, 2)

func wait(ctx context.Context) (done func(), err error) {
	select {
	case atOnce <- struct{}{}:
		return func() { <-atOnce }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Hash gives what is kept of a password, in PHC form. ErrLength where it is too short or too long.
func Hash(ctx context.Context, plain string) (string, error) {
	if n := utf8.RuneCountInString(plain); n < Shortest || n > Longest || !utf8.ValidString(plain) {
		return "", ErrLength
	}
	done, err := wait(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	return argon2id.CreateHash(plain, params)
}

// nobody is the hash of a password that nobody has.
const nobody = "$argon2id$v=19$m=19456,t=2,p=1$YWFhYWFhYWFhYWFhYWFhYQ$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// Matches reports whether plain is the password of a hash. An empty hash, of a user without a password or of nobody at
// all, matches nothing, and takes as long as any other to say so.
func Matches(ctx context.Context, plain, hash string) (bool, error) {
	if hash == "" {
		hash = nobody
	}
	if len(plain) > 4*Longest {
		plain = "" // matches nothing
	}
	done, err := wait(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	ok, err := argon2id.ComparePasswordAndHash(plain, hash)
	if err != nil {
		return false, fmt.Errorf("password hash: %w", err)
	}
	return ok && hash != nobody, nil
}
