package pass

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
)

// Keys is a set of public keys that passes may be signed with. It does not change once made.
type Keys struct {
	keys     []publicKey
	byHeader map[string]ed25519.PublicKey // the header of a pass → the key it must be signed with
}

type publicKey struct {
	id  string
	key ed25519.PublicKey
}

// NewKeys makes the set of the public halves of keys.
func NewKeys(keys ...*Key) *Keys {
	s := &Keys{byHeader: make(map[string]ed25519.PublicKey, len(keys))}
	for _, k := range keys {
		s.add(k.id, k.Public())
	}
	return s
}

// add reports whether the id is new.
func (s *Keys) add(id string, key ed25519.PublicKey) bool {
	header := headerOf(id)
	if _, known := s.byHeader[header]; known {
		return false
	}
	s.byHeader[header] = key
	s.keys = append(s.keys, publicKey{id, key})
	return true
}

// IDs are the kids of the keys, in the order of the set.
func (s *Keys) IDs() []string {
	ids := make([]string, len(s.keys))
	for i, k := range s.keys {
		ids[i] = k.id
	}
	return ids
}

type jwk struct {
	Kty string `json:"kty"`
	Crv string `json:"crv"`
	Kid string `json:"kid"`
	Use string `json:"use"`
	Alg string `json:"alg"`
	X   string `json:"x"`
}

type jwks struct {
	Keys []jwk `json:"keys"`
}

// MarshalJWKS gives the set as a JSON Web Key Set (RFC 7517, RFC 8037).
func (s *Keys) MarshalJWKS() []byte {
	set := jwks{Keys: make([]jwk, len(s.keys))}
	for i, k := range s.keys {
		set.Keys[i] = jwk{Kty: "OKP", Crv: "Ed25519", Kid: k.id, Use: "sig", Alg: "EdDSA", X: b64.EncodeToString(k.key)}
	}
	b, err := json.Marshal(set)
	if err != nil {
		panic(err) // strings always marshal
	}
	return b
}

// ParseJWKS reads a JSON Web Key Set. Keys of other kinds or uses are left out, as RFC 7517 asks. A set without any
// key for passes is an error: what came is not the issuer's set, and must not take the place of a good one.
func ParseJWKS(b []byte) (*Keys, error) {
	var set jwks
	if err := json.Unmarshal(b, &set); err != nil {
		return nil, fmt.Errorf("pass: key set: %w", err)
	}
	s := NewKeys()
	for _, k := range set.Keys {
		if k.Kty != "OKP" || k.Crv != "Ed25519" || k.Use != "" && k.Use != "sig" || k.Alg != "" && k.Alg != "EdDSA" {
			continue
		}
		x, ok := decode(k.X)
		if !ok || len(x) != ed25519.PublicKeySize || !plainID(k.Kid) {
			return nil, errors.New("pass: key set: an Ed25519 key with a kid or x that is none")
		}
		if !s.add(k.Kid, x) {
			return nil, fmt.Errorf("pass: key set: kid %s comes twice", k.Kid)
		}
	}
	if len(s.keys) == 0 {
		return nil, errors.New("pass: key set: no Ed25519 key in it")
	}
	return s, nil
}

// plainID reports whether a kid may stand in a header as it is.
func plainID(id string) bool {
	for i := range len(id) {
		b := id[i]
		if !('a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '-' || b == '_' || b == '.') {
			return false
		}
	}
	return id != "" && len(id) <= 64
}
