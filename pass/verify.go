package pass

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Why a pass is refused. Verify wraps them: ask with errors.Is.
var (
	ErrMalformed  = errors.New("pass: malformed")
	ErrSignature  = errors.New("pass: not signed by the issuer")
	ErrUnknownKey = fmt.Errorf("%w: signed with a key that is not known here", ErrSignature)
	ErrExpired    = errors.New("pass: expired")
	ErrNotYet     = errors.New("pass: issued in the future, compare the clock of this machine with the issuer's")
	ErrAudience   = errors.New("pass: of another item")
	ErrIssuer     = errors.New("pass: of another issuer")
)

// How far the clocks of issuer and verifier may be apart.
const (
	IssuedLeeway = 30 * time.Second // a pass is good up to this long before its iat
	ExpiryLeeway = 5 * time.Second  // and less than this long after its exp; the slot is held as long
)

// MaxToken is the longest pass in bytes; anything longer is refused unread.
const MaxToken = 4096

// Verifier verifies passes offline. It is safe for use by many goroutines as long as its fields stay as they are; to
// take new keys, make a new one with the same Cache.
type Verifier struct {
	Keys   *Keys            // required
	Issuer string           // what iss must be; "" = whatever it is, the keys decide
	Now    func() time.Time // nil = time.Now
	Cache  *Cache           // nil = every pass is verified each time it is shown (about 50 µs)
	// Known, where set, is asked before the signature is computed whether the claims can be the issuer's own. It must
	// be much cheaper than a signature: it is there to turn floods of forged passes away.
	Known func(Claims) bool
}

// Verify gives the claims of a pass for item, or the reason why it is none. With ErrExpired, and no other error, the
// claims are there too: whose the pass was is proved all the same.
func (v *Verifier) Verify(token, item string) (Claims, error) {
	c, err := v.VerifyAny(token)
	if (err == nil || errors.Is(err, ErrExpired)) && c.Item != item {
		return Claims{}, ErrAudience
	}
	return c, err
}

// VerifyAny is Verify for a pass of whatever item, for callers that ask for the item afterwards.
func (v *Verifier) VerifyAny(token string) (Claims, error) {
	c, err := v.signed(token)
	if err != nil {
		return Claims{}, err
	}
	if v.Issuer != "" && c.Issuer != v.Issuer {
		return Claims{}, ErrIssuer
	}
	now := time.Now
	if v.Now != nil {
		now = v.Now
	}
	t := now()
	if ahead := c.IssuedAt.Sub(t); ahead > IssuedLeeway {
		return Claims{}, fmt.Errorf("%w: %v ahead", ErrNotYet, ahead.Round(time.Second))
	}
	if t.Sub(c.ExpiresAt) >= ExpiryLeeway {
		return c, ErrExpired
	}
	return c, nil
}

// signed gives the claims of a token that the issuer signed, whenever that was.
func (v *Verifier) signed(token string) (Claims, error) {
	if len(token) > MaxToken {
		return Claims{}, ErrMalformed
	}
	header, rest, _ := strings.Cut(token, ".")
	payload, signature, ok := strings.Cut(rest, ".")
	if !ok || len(signature) != signatureChars {
		return Claims{}, ErrMalformed
	}
	key, ok := v.Keys.byHeader[header] // before the cache: a key that was withdrawn takes its passes along
	if !ok {
		return Claims{}, ErrUnknownKey
	}
	if c, ok := v.Cache.get(token); ok {
		return c, nil
	}
	body, ok := decode(payload)
	if !ok {
		return Claims{}, ErrMalformed
	}
	c, err := parseClaims(body)
	if err != nil {
		return Claims{}, err
	}
	if v.Known != nil && !v.Known(c) {
		return Claims{}, ErrSignature
	}
	sig, ok := decode(signature)
	if !ok {
		return Claims{}, ErrMalformed
	}
	if !ed25519.Verify(key, []byte(token[:len(header)+1+len(payload)]), sig) {
		return Claims{}, ErrSignature
	}
	v.Cache.put(token, c)
	return c, nil
}
