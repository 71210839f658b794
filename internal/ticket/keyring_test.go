package ticket

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/pass"
	"github.com/sluicehq/sluice/queue"
)

var testNow = time.Date(2026, 12, 1, 11, 0, 0, 123e6, time.UTC)

func testSecret(n byte) string {
	return base64.StdEncoding.EncodeToString([]byte{0: n, 1: 0xfb, 31: n})
}

// testRing is the keyring of secret keys by number; the same number gives the same key.
func testRing(t testing.TB, numbers ...byte) *Keyring {
	t.Helper()
	var list []string
	for _, n := range numbers {
		list = append(list, testSecret(n))
	}
	secrets, err := ParseSecret(strings.Join(list, ","))
	if err != nil {
		t.Fatal(err)
	}
	return New(secrets)
}

func testVisitor(n byte) queue.Visitor { return queue.VisitorOf([]byte{n, 11: n}) }

func TestParseSecret(t *testing.T) {
	t.Parallel()
	raw := []byte(strings.Repeat("\xfb\xff", 16))
	std, url := base64.StdEncoding.EncodeToString(raw), base64.RawURLEncoding.EncodeToString(raw)
	short := base64.StdEncoding.EncodeToString([]byte("seventeen letters"))
	for _, tt := range []struct {
		name, secret, want string // want: the error; "" = it parses
	}{
		{"one key", std, ""},
		{"one key, URL-safe and without padding", url, ""},
		{"a line break at the end, as files have it", std + "\n", ""},
		{"two keys", std + ", " + testSecret(1), ""},
		{"nothing", "", "secret key: it is empty"},
		{"white space", " \n", "secret key: it is empty"},
		{"a comma too many", std + ",", "secret key 2 of 2: 0 bytes, at least 32 are needed"},
		{"a short key", short, "secret key: 17 bytes, at least 32 are needed"},
		{"a short key among good ones", std + "," + short, "secret key 2 of 2: 17 bytes, at least 32 are needed"},
		{"no base64", "correct horse battery staple, or so!", "secret key 1 of 2: not base64"},
		{"the same key twice", std + "," + url, "secret key 2 of 2: the same as key 1"},
		{"a key that is far too long", strings.Repeat("A", 4096), "secret key: 3072 bytes, at most 1024 can be given"},
		{"far too many keys", strings.Repeat(std+",", 20) + std, "secret key: 21 keys, at most 16 can be given"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseSecret(tt.secret)
			if got := fmt.Sprint(err); tt.want == "" && err != nil || tt.want != "" && got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSecretsDoNotShowInPrint(t *testing.T) {
	t.Parallel()
	secret := testSecret(1)
	secrets, err := ParseSecret(secret)
	if err != nil {
		t.Fatal(err)
	}
	ring := New(secrets)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x", "%q"} {
		if got := fmt.Sprintf(verb, secrets); got != "1 secret keys" {
			t.Errorf("%s: %s", verb, got)
		}
		if got := fmt.Sprintf(verb, ring); got != "keyring "+ring.Fingerprint() {
			t.Errorf("%s: %s", verb, got)
		}
	}
}

func TestAgree(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		a, b []byte
		want bool
	}{
		{"the same key", []byte{1}, []byte{1}, true},
		{"another key", []byte{1}, []byte{2}, false},
		{"a new key was added on one node", []byte{1}, []byte{1, 2}, true},
		{"the new key signs on one node already", []byte{1, 2}, []byte{2, 1}, true},
		{"the old key was taken away on one node", []byte{2, 1}, []byte{2}, true},
		{"the new key signs before the other node knows it", []byte{1}, []byte{2, 1}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a, b := testRing(t, tt.a...).Fingerprint(), testRing(t, tt.b...).Fingerprint()
			if Agree(a, b) != tt.want || Agree(b, a) != tt.want {
				t.Errorf("%s and %s", a, b)
			}
		})
	}
}

// What derives from a secret key is in stores, cookies and key sets: it must not change with a version of the program.
func TestDerivedValuesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	k := testRing(t, 1)
	key, _ := k.PassKeys()
	for _, tt := range []struct{ name, got, want string }{
		{"fingerprint", k.Fingerprint(), "DuQEc0ojBGRN"},
		{"pass key", key.ID(), "GlalF33gSgY"},
		{"user", string(k.UserVisitor("user-1")), "14HCCV6jbha8RQtP"},
		{"pass id", k.PassID("sku-1", testVisitor(1), 7, 1796122800), "lBRgaSfkPVtveMxs"},
		{"lot", fmt.Sprint(k.Lot("sku-1", 7, testVisitor(1))), "13269925625461"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, tt.got, tt.want)
		}
	}
}

func TestPassKeys(t *testing.T) {
	t.Parallel()
	ids := func(keys []*pass.Key) (ids []string) {
		for _, k := range keys {
			ids = append(ids, k.ID())
		}
		return ids
	}
	oldSigning, _ := testRing(t, 1).PassKeys()
	newSigning, _ := testRing(t, 2).PassKeys()
	signing, all := testRing(t, 2, 1).PassKeys()
	if signing.ID() != newSigning.ID() || fmt.Sprint(ids(all)) != fmt.Sprint([]string{newSigning.ID(), oldSigning.ID()}) {
		t.Errorf("signing %v, all %v", signing, all)
	}
	second, all := testRing(t, 1).PassKeys(2, 1)
	if second.ID() == oldSigning.ID() || len(all) != 2 || all[1].ID() != oldSigning.ID() {
		t.Errorf("key 2 %v, all %v", second, all)
	}
}

func TestUserVisitor(t *testing.T) {
	t.Parallel()
	k := testRing(t, 1)
	v := k.UserVisitor("user-1")
	if _, err := queue.ParseVisitor(string(v)); err != nil {
		t.Errorf("%q: %v", v, err)
	}
	if v != testRing(t, 1, 2).UserVisitor("user-1") {
		t.Error("another node gives another visitor")
	}
	if v == k.UserVisitor("user-2") || v == testRing(t, 2).UserVisitor("user-1") {
		t.Error("another user, or another key, gives the same visitor")
	}
	if _, err := queue.ParseVisitor(string(k.UserVisitor(strings.Repeat("é", 128)))); err != nil {
		t.Error(err)
	}
	after := testRing(t, 2, 1)
	if !after.IsUser(v, "user-1") || after.IsUser(v, "user-2") || testRing(t, 2).IsUser(v, "user-1") {
		t.Error("a visitor of the old key is not told from others")
	}
}

func TestLot(t *testing.T) {
	t.Parallel()
	k := testRing(t, 1)
	var below int
	seen := map[int64]bool{}
	for i := range 2000 {
		lot := k.Lot("sku-1", 7, queue.VisitorOf([]byte{byte(i), byte(i >> 8), 11: 0}))
		if lot < 1 || lot >= queue.MaxLot {
			t.Fatalf("lot %d", lot)
		}
		if seen[lot] {
			t.Fatalf("lot %d comes twice", lot)
		}
		seen[lot] = true
		if lot < queue.MaxLot/2 {
			below++
		}
	}
	if below < 900 || below > 1100 {
		t.Errorf("%d of 2,000 in the lower half", below)
	}
	v := testVisitor(1)
	if k.Lot("sku-1", 7, v) != testRing(t, 1).Lot("sku-1", 7, v) {
		t.Error("asked on another node, it differs")
	}
	if k.Lot("sku-1", 7, v) == k.Lot("sku-1", 8, v) || k.Lot("sku-1", 7, v) == k.Lot("sku-2", 7, v) {
		t.Error("another draw has the same lots")
	}
}

// B082: 200 answers on three nodes carry one and the same pass.
func TestPassesOfTheSameAdmissionAreTheSame(t *testing.T) {
	t.Parallel()
	const issuer = "https://queue.example"
	stub := PassStub{Generation: 7, IssuedMS: 1796122800_999, EndsMS: 1796123100_001}
	sign := func(k *Keyring) string {
		key, _ := k.PassKeys()
		return key.Sign(k.Claims(issuer, "sku-1", testVisitor(1), stub))
	}
	token := sign(testRing(t, 1))
	if other := sign(testRing(t, 1, 2)); other != token {
		t.Errorf("another node signs another pass:\n%s\n%s", token, other)
	}

	rotated := testRing(t, 2, 1)
	_, all := rotated.PassKeys()
	v := pass.Verifier{Keys: pass.NewKeys(all...), Issuer: issuer, Known: rotated.KnowsPass, Now: func() time.Time { return time.UnixMilli(stub.IssuedMS) }}
	c, err := v.Verify(token, "sku-1")
	if err != nil {
		t.Fatalf("a pass of the old key: %v", err)
	}
	if c.Visitor != string(testVisitor(1)) || c.Generation != 7 || c.IssuedAt.Unix() != 1796122800 || c.ExpiresAt.Unix() != 1796123100 {
		t.Errorf("got %+v", c)
	}

	c.Visitor = string(testVisitor(2))
	if rotated.KnowsPass(c) {
		t.Error("the id of one visitor's pass is taken for another's")
	}
	if testRing(t, 3).KnowsPass(c) {
		t.Error("the id of another key is taken")
	}
}

func TestSealText(t *testing.T) {
	t.Parallel()
	one, two, both := testRing(t, 1), testRing(t, 2), testRing(t, 2, 1)
	sealed := one.SealText("connector", "a secret")
	if strings.Contains(sealed, "secret") || sealed != one.SealText("connector", "a secret") {
		t.Errorf("sealed %q", sealed)
	}
	for _, c := range []struct {
		name            string
		by              *Keyring
		purpose, sealed string
		ok              bool
	}{
		{"the same key", one, "connector", sealed, true},
		{"a key that is not the first any more", both, "connector", sealed, true},
		{"another key", two, "connector", sealed, false},
		{"another purpose", one, "other", sealed, false},
		{"tampered with", one, "connector", sealed[:len(sealed)-2] + "AA", false},
		{"cut off", one, "connector", sealed[:10], false},
		{"nothing", one, "connector", "", false},
	} {
		if text, ok := c.by.OpenText(c.purpose, c.sealed); ok != c.ok || ok && text != "a secret" {
			t.Errorf("%s: %q %v", c.name, text, ok)
		}
	}
}
