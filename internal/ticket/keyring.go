package ticket

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/pass"
	"github.com/sluicehq/sluice/queue"
)

// Keyring holds every key that derives from the secret keys. It is safe for use by many goroutines.
type Keyring struct{ rings []*ring }

// ring is what derives from one secret key.
type ring struct {
	secret      []byte
	fingerprint string

	visitor, ticket, jar *box

	user, lot, passID *prf
}

// New derives the keys of secrets, which must hold at least one (ParseSecret gives no fewer).
func New(secrets Secrets) *Keyring {
	if len(secrets.keys) == 0 {
		panic("ticket: no secret key")
	}
	k := &Keyring{}
	for _, secret := range secrets.keys {
		k.rings = append(k.rings, &ring{
			secret:      secret,
			fingerprint: base64.RawURLEncoding.EncodeToString(derive(secret, "fingerprint")[:9]),
			visitor:     newBox(secret, "visitor"),
			ticket:      newBox(secret, "ticket"),
			jar:         newBox(secret, "jar"),
			user:        newPRF(derive(secret, "user")),
			lot:         newPRF(derive(secret, "lot")),
			passID:      newPRF(derive(secret, "pass id")),
		})
	}
	return k
}

// derive gives 32 bytes for one purpose.
func derive(secret []byte, purpose string) []byte {
	b, err := hkdf.Key(sha256.New, secret, nil, "sluice v1 "+purpose, 32)
	if err != nil {
		panic(err) // only for lengths that SHA-256 cannot give
	}
	return b
}

// Format keeps the keys out of logs, whatever the verb.
func (k *Keyring) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "keyring %s", k.Fingerprint()) }

// Fingerprint names the secret keys without giving them away, to compare those of two nodes with Agree. It may be
// stored and logged.
func (k *Keyring) Fingerprint() string {
	names := make([]string, len(k.rings))
	for i, r := range k.rings {
		names[i] = r.fingerprint
	}
	return strings.Join(names, ",")
}

// Agree reports whether two nodes of these fingerprints accept each other's tokens: each knows the key that the other
// signs with. So keys can be changed node by node: first the new one is added at the end on all, then it goes to the
// front on all, then the old one is taken away.
func Agree(a, b string) bool {
	as, bs := strings.Split(a, ","), strings.Split(b, ",")
	return slices.Contains(bs, as[0]) && slices.Contains(as, bs[0])
}

// PassKeys gives the keys of passes by their numbers (1 and up): the signing one, which is that of the first number
// and the first secret key, and all that verify, of every number and every secret key. No number means 1.
func (k *Keyring) PassKeys(numbers ...int64) (signing *pass.Key, all []*pass.Key) {
	if len(numbers) == 0 {
		numbers = []int64{1}
	}
	for _, r := range k.rings {
		for _, n := range numbers {
			all = append(all, pass.NewKey([32]byte(derive(r.secret, fmt.Sprintf("pass key %d", n)))))
		}
	}
	return all[0], all
}

// SealText hides a text from whoever has not the secret key, for one purpose; OpenText of the same purpose gives it back.
// It is for what is kept, not for tokens: the same text always gives the same outcome.
func (k *Keyring) SealText(purpose, text string) string {
	w := &work{plain: []byte(text)} // of its own: a secret has no business in memory that is used again
	return w.seal(newBox(k.rings[0].secret, "text "+purpose), "")
}

// OpenText gives what SealText hid, by any of the secret keys; false where it was not sealed by one of them.
func (k *Keyring) OpenText(purpose, sealed string) (string, bool) {
	w := new(work)
	box := func(r *ring) *box { return newBox(r.secret, "text "+purpose) }
	if _, ok := k.open(w, box, "", sealed, 1<<16); !ok {
		return "", false
	}
	return string(w.plain), true
}

// UserVisitor is the visitor that a server's user id (1 to 256 bytes) stands for: a keyed hash, so that neither can be
// told from the other without the secret key. It changes with the first secret key; see IsUser.
func (k *Keyring) UserVisitor(user string) queue.Visitor { return k.rings[0].userVisitor(user) }

// IsUser reports whether v stands for user by any of the secret keys. A server that sends a visitor token back keeps
// its user's place by it while secret keys change.
func (k *Keyring) IsUser(v queue.Visitor, user string) bool {
	for _, r := range k.rings {
		if hmac.Equal([]byte(r.userVisitor(user)), []byte(v)) {
			return true
		}
	}
	return false
}

func (r *ring) userVisitor(user string) queue.Visitor {
	sum := r.user.sum(user)
	return queue.VisitorOf(sum[:])
}

// Lot is the visitor's lot in a draw of this generation, 1 to queue.MaxLot-1: the same however often it is asked for,
// and nothing that a visitor could work out or choose.
func (k *Keyring) Lot(item queue.Item, generation queue.Generation, v queue.Visitor) int64 {
	sum := k.rings[0].lot.sum(string(item), string(v), number(int64(generation)))
	return 1 + int64(binary.BigEndian.Uint64(sum[:])%uint64(queue.MaxLot-1))
}

// PassID is the jti of the pass of these claims: the same on every node, so that a pass can be made again; and keyed,
// so that a forged one is found out without computing a signature (KnowsPass).
func (k *Keyring) PassID(item queue.Item, v queue.Visitor, generation queue.Generation, issuedSec int64) string {
	return k.rings[0].passIDOf(string(item), string(v), int64(generation), issuedSec)
}

// KnowsPass reports whether the jti of claims is one that PassID made, by any of the secret keys. It fits
// pass.Verifier.Known.
func (k *Keyring) KnowsPass(c pass.Claims) bool {
	for _, r := range k.rings {
		if hmac.Equal([]byte(r.passIDOf(c.Item, c.Visitor, c.Generation, c.IssuedAt.Unix())), []byte(c.ID)) {
			return true
		}
	}
	return false
}

func (r *ring) passIDOf(item, visitor string, generation, issuedSec int64) string {
	sum := r.passID.sum(item, visitor, number(generation), number(issuedSec))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// Claims are those of the pass that p stands for: signed with the same key they are the very same pass.
func (k *Keyring) Claims(issuer string, item queue.Item, v queue.Visitor, p PassStub) pass.Claims {
	issued := p.IssuedMS / 1000
	return pass.Claims{
		Issuer:     issuer,
		Item:       string(item),
		Visitor:    string(v),
		ID:         k.PassID(item, v, p.Generation, issued),
		IssuedAt:   time.Unix(issued, 0).UTC(),
		ExpiresAt:  time.Unix(p.EndsMS/1000, 0).UTC(),
		Generation: int64(p.Generation),
	}
}

// number writes n in 8 bytes, for a hash.
func number(n int64) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	return string(b[:])
}
