package ticket

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash"
	"strings"
	"sync"
)

// Why a token is refused.
var (
	ErrInvalid = errors.New("ticket: not a token of ours, or of another item")
	ErrExpired = errors.New("ticket: expired")
)

const (
	version  = 1 // of all three tokens; another one is refused
	tagSize  = 16
	overhead = 1 + tagSize
)

// prf is HMAC-SHA-256 under one key. Its states are kept: making one costs three times as much as using it.
type prf struct{ pool sync.Pool }

type prfState struct {
	mac hash.Hash
	buf []byte
	out []byte
}

func newPRF(key []byte) *prf {
	p := &prf{}
	p.pool.New = func() any { return &prfState{mac: hmac.New(sha256.New, key), out: make([]byte, 0, sha256.Size)} }
	return p
}

// sum hashes parts, each with its length in front, so that no two lists of parts are hashed alike.
func (p *prf) sum(parts ...string) (sum [sha256.Size]byte) {
	s := p.pool.Get().(*prfState)
	defer p.pool.Put(s)
	s.buf = s.buf[:0]
	for _, part := range parts {
		s.buf = binary.AppendUvarint(s.buf, uint64(len(part)))
		s.buf = append(s.buf, part...)
	}
	s.mac.Reset()
	s.mac.Write(s.buf)
	s.out = s.mac.Sum(s.out[:0])
	copy(sum[:], s.out)
	return sum
}

// box seals one kind of token under keys of its own.
type box struct {
	mac    *prf
	cipher cipher.Block
}

func newBox(secret []byte, purpose string) *box {
	block, err := aes.NewCipher(derive(secret, purpose+" cipher"))
	if err != nil {
		panic(err) // only for keys of another length
	}
	return &box{mac: newPRF(derive(secret, purpose+" mac")), cipher: block}
}

// seal gives the token of plain, which it overwrites. Context (the item) goes into the tag and not into the token.
func (b *box) seal(context string, plain []byte) string {
	raw := make([]byte, overhead, overhead+len(plain))
	raw[0] = version
	tag := b.mac.sum(string(raw[:1]), context, string(plain))
	copy(raw[1:], tag[:tagSize])
	raw = append(raw, plain...)
	cipher.NewCTR(b.cipher, raw[1:overhead]).XORKeyStream(raw[overhead:], raw[overhead:])
	return base64.RawURLEncoding.EncodeToString(raw)
}

// open gives back what was sealed with the same context.
func (b *box) open(context string, raw []byte) ([]byte, bool) {
	plain := make([]byte, len(raw)-overhead)
	cipher.NewCTR(b.cipher, raw[1:overhead]).XORKeyStream(plain, raw[overhead:])
	tag := b.mac.sum(string(raw[:1]), context, string(plain))
	return plain, hmac.Equal(tag[:tagSize], raw[1:overhead])
}

var b64 = base64.RawURLEncoding.Strict()

// unpack reads the outside of a token of at most most characters. One token has one spelling: encoding/base64 skips
// line breaks, so they are refused here.
func unpack(token string, most int) ([]byte, bool) {
	if len(token) > most || strings.ContainsAny(token, "\r\n") {
		return nil, false
	}
	raw, err := b64.DecodeString(token)
	return raw, err == nil && len(raw) >= overhead && raw[0] == version
}

// open tries the secret keys in turn. used is the number of the one that fits, 0 = the first.
func (k *Keyring) open(of func(*ring) *box, context, token string, most int) (plain []byte, used int, ok bool) {
	raw, ok := unpack(token, most)
	if !ok {
		return nil, 0, false
	}
	for i, r := range k.rings {
		if plain, ok := of(r).open(context, raw); ok {
			return plain, i, true
		}
	}
	return nil, 0, false
}
