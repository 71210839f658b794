package ticket

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
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
func (p *prf) sum(parts ...string) [sha256.Size]byte {
	s := p.pool.Get().(*prfState)
	defer p.pool.Put(s)
	s.buf = s.buf[:0]
	for _, part := range parts {
		s.buf = appendPart(s.buf, part)
	}
	return s.sum()
}

// sumToken is sum for a token.
func (p *prf) sumToken(context string, plain []byte) [sha256.Size]byte {
	s := p.pool.Get().(*prfState)
	defer p.pool.Put(s)
	s.buf = append(s.buf[:0], version)
	s.buf = appendPart(s.buf, context)
	s.buf = appendPart(s.buf, plain)
	return s.sum()
}

func appendPart[T string | []byte](b []byte, part T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(part))), part...)
}

func (s *prfState) sum() [sha256.Size]byte {
	s.mac.Reset()
	s.mac.Write(s.buf)
	s.out = s.mac.Sum(s.out[:0])
	return [sha256.Size]byte(s.out)
}

// box seals one kind of token under keys of its own.
type box struct {
	mac    *prf
	cipher cipher.Block
	blocks sync.Pool // of *[2][aes.BlockSize]byte: counter and what it gives
}

func newBox(secret []byte, purpose string) *box {
	block, err := aes.NewCipher(derive(secret, purpose+" cipher"))
	if err != nil {
		panic(err) // only for keys of another length
	}
	b := &box{mac: newPRF(derive(secret, purpose+" mac")), cipher: block}
	b.blocks.New = func() any { return new([2][aes.BlockSize]byte) }
	return b
}

// xor encrypts or decrypts from into to, which may be the same: counter mode from the tag on. cipher.NewCTR does it too,
// but makes half a kilobyte of garbage for each token, at twice the time.
func (b *box) xor(to, from, tag []byte) {
	blocks := b.blocks.Get().(*[2][aes.BlockSize]byte)
	defer b.blocks.Put(blocks)
	counter, pad := blocks[0][:], blocks[1][:]
	copy(counter, tag)
	for len(from) > 0 {
		b.cipher.Encrypt(pad, counter)
		n := subtle.XORBytes(to, from, pad[:min(len(pad), len(from))])
		to, from = to[n:], from[n:]
		binary.BigEndian.PutUint64(counter[8:], binary.BigEndian.Uint64(counter[8:])+1)
	}
}

// seal gives the token of plain. Context (the item) goes into the tag and not into the token.
func (b *box) seal(context string, plain []byte) string {
	raw := make([]byte, overhead, overhead+len(plain))
	raw[0] = version
	tag := b.mac.sumToken(context, plain)
	copy(raw[1:], tag[:tagSize])
	raw = append(raw, plain...)
	b.xor(raw[overhead:], raw[overhead:], tag[:tagSize])
	return base64.RawURLEncoding.EncodeToString(raw)
}

// open gives back what was sealed with the same context.
func (b *box) open(context string, raw []byte) ([]byte, bool) {
	plain := make([]byte, len(raw)-overhead)
	b.xor(plain, raw[overhead:], raw[1:overhead])
	tag := b.mac.sumToken(context, plain)
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
