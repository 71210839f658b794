package pass

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

// b64 is base64url without padding that refuses bits no encoder sets. It still skips line breaks: see decode.
var b64 = base64.RawURLEncoding.Strict()

// Key signs passes. It is safe for use by many goroutines.
type Key struct {
	id      string
	header  string // the first part of every pass that it signs, with the dot
	private ed25519.PrivateKey
}

// NewKey makes the key of a seed: the same seed gives the same key and the same id everywhere.
func NewKey(seed [32]byte) *Key {
	private := ed25519.NewKeyFromSeed(seed[:])
	id := keyID(private.Public().(ed25519.PublicKey))
	return &Key{id: id, header: headerOf(id) + ".", private: private}
}

// ID is the key's kid: the first 8 bytes of the SHA-256 of the public key, base64url.
func (k *Key) ID() string { return k.id }

// Public is the public key.
func (k *Key) Public() ed25519.PublicKey { return k.private.Public().(ed25519.PublicKey) }

// Format keeps the private key out of logs, whatever the verb.
func (k *Key) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "pass key %s", k.id) }

// Sign gives the pass: a compact JWT. The same claims give the very same pass, so that one that was lost on its way
// can be made again anywhere. Instants are rounded down to whole seconds.
func (k *Key) Sign(c Claims) string {
	var b strings.Builder
	claims := c.marshal()
	b.Grow(len(k.header) + b64.EncodedLen(len(claims)) + 1 + signatureChars)
	b.WriteString(k.header)
	b.WriteString(b64.EncodeToString(claims))
	signature := ed25519.Sign(k.private, []byte(b.String()))
	b.WriteByte('.')
	b.WriteString(b64.EncodeToString(signature))
	return b.String()
}

const signatureChars = 86 // of 64 bytes in base64url

func keyID(public ed25519.PublicKey) string {
	sum := sha256.Sum256(public)
	return b64.EncodeToString(sum[:8])
}

// headerOf is the one header that passes under a key have. It is compared as it stands and never parsed: so a token
// cannot choose its algorithm, or say anything else about how it wants to be verified.
func headerOf(kid string) string {
	return b64.EncodeToString([]byte(`{"alg":"EdDSA","kid":"` + kid + `","typ":"JWT"}`))
}

// decode reads base64url without padding, and nothing that only looks like it: no line breaks, which encoding/base64
// skips, and no bits that are not part of a byte, so that one token has one spelling.
func decode(s string) ([]byte, bool) {
	if strings.ContainsAny(s, "\r\n") {
		return nil, false
	}
	b, err := b64.DecodeString(s)
	return b, err == nil
}
