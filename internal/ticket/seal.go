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
}

func newBox(secret []byte, purpose string) *box {
	block, err := aes.NewCipher(derive(secret, purpose+" cipher"))
	if err != nil {
		panic(err) // only for keys of another length
	}
	return &box{mac: newPRF(derive(secret, purpose+" mac")), cipher: block}
}

// work is the memory in which one token is opened or sealed. It is used again and again: on the way of every request,
// what would be garbage costs more than the ciphers.
type work struct {
	text, raw, plain []byte // base64; version, tag and ciphertext; plaintext
	counter, pad     [aes.BlockSize]byte
}

var works = sync.Pool{New: func() any { return new(work) }}

// xor encrypts or decrypts from into to, which may be the same: counter mode from the tag on. cipher.NewCTR does it too,
// but makes half a kilobyte of garbage for each token, at twice the time.
func (w *work) xor(block cipher.Block, to, from, tag []byte) {
	counter, pad := w.counter[:], w.pad[:]
	copy(counter, tag)
	for len(from) > 0 {
		block.Encrypt(pad, counter)
		n := subtle.XORBytes(to, from, pad[:min(len(pad), len(from))])
		to, from = to[n:], from[n:]
		binary.BigEndian.PutUint64(counter[8:], binary.BigEndian.Uint64(counter[8:])+1)
	}
}

// seal gives the token of w.plain. Context (the item) goes into the tag and not into the token.
func (w *work) seal(b *box, context string) string {
	tag := b.mac.sumToken(context, w.plain)
	w.raw = append(append(append(w.raw[:0], version), tag[:tagSize]...), w.plain...)
	w.xor(b.cipher, w.raw[overhead:], w.raw[overhead:], w.raw[1:overhead])
	w.text = b64.AppendEncode(w.text[:0], w.raw)
	return string(w.text)
}

// open decrypts w.raw into w.plain, and reports whether that was sealed in this box with the same context.
func (w *work) open(b *box, context string) bool {
	w.plain = append(w.plain[:0], w.raw[overhead:]...)
	w.xor(b.cipher, w.plain, w.plain, w.raw[1:overhead])
	tag := b.mac.sumToken(context, w.plain)
	return hmac.Equal(tag[:tagSize], w.raw[1:overhead])
}

var b64 = base64.RawURLEncoding.Strict()

// unpack reads the outside of a token of at most most characters into w.raw. One token has one spelling: encoding/base64
// skips line breaks, so they are refused here.
func (w *work) unpack(token string, most int) bool {
	if len(token) > most || strings.IndexByte(token, '\r') >= 0 || strings.IndexByte(token, '\n') >= 0 {
		return false
	}
	w.text = append(w.text[:0], token...)
	var err error
	w.raw, err = b64.AppendDecode(w.raw[:0], w.text)
	return err == nil && len(w.raw) >= overhead && w.raw[0] == version
}

// open puts the plaintext of a token into w.plain. It tries the secret keys in turn; used is the number of the one that
// fits, 0 = the first.
func (k *Keyring) open(w *work, of func(*ring) *box, context, token string, most int) (used int, ok bool) {
	if !w.unpack(token, most) {
		return 0, false
	}
	for i, r := range k.rings {
		if w.open(of(r), context) {
			return i, true
		}
	}
	return 0, false
}
