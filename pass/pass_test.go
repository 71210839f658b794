package pass

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

const (
	testIssuer = "https://queue.example"
	testItem   = "sku-1"
)

var testNow = time.Date(2026, 12, 1, 11, 0, 0, 0, time.UTC)

func testKey(n byte) *Key { return NewKey([32]byte{n, 31: n}) }

func testClaims() Claims {
	return Claims{
		Issuer:     testIssuer,
		Item:       testItem,
		Visitor:    "AAECAwQFBgcICQoL",
		ID:         "jQm0pFvXx1Y2Zk3T",
		IssuedAt:   testNow,
		ExpiresAt:  testNow.Add(5 * time.Minute),
		Generation: 1796122800,
	}
}

func verifierAt(t time.Time, keys ...*Key) *Verifier {
	return &Verifier{Keys: NewKeys(keys...), Issuer: testIssuer, Now: func() time.Time { return t }}
}

// signed makes a token of any header and payload, signed with k.
func signed(k *Key, header, payload string) string {
	message := b64.EncodeToString([]byte(header)) + "." + b64.EncodeToString([]byte(payload))
	return message + "." + b64.EncodeToString(ed25519.Sign(k.private, []byte(message)))
}

func headerText(k *Key) string { return `{"alg":"EdDSA","kid":"` + k.ID() + `","typ":"JWT"}` }

func TestSign(t *testing.T) {
	t.Parallel()
	k := testKey(1)

	t.Run("the same claims give the very same pass", func(t *testing.T) {
		t.Parallel()
		again := testClaims()
		again.IssuedAt = again.IssuedAt.Add(999 * time.Millisecond).In(time.FixedZone("KST", 9*3600))
		if a, b := k.Sign(testClaims()), testKey(1).Sign(again); a != b {
			t.Errorf("two passes:\n%s\n%s", a, b)
		}
	})
	t.Run("the format stays as it is", func(t *testing.T) {
		t.Parallel()
		parts := strings.Split(k.Sign(testClaims()), ".")
		if len(parts) != 3 {
			t.Fatalf("%d parts", len(parts))
		}
		for i, want := range []string{
			headerText(k),
			`{"iss":"https://queue.example","aud":"sku-1","sub":"AAECAwQFBgcICQoL","jti":"jQm0pFvXx1Y2Zk3T",` +
				`"iat":1796122800,"exp":1796123100,"gen":1796122800}`,
		} {
			got, ok := decode(parts[i])
			if !ok || string(got) != want {
				t.Errorf("part %d\n got %s\nwant %s", i, got, want)
			}
		}
	})
	t.Run("what was signed verifies, whatever the text in the claims", func(t *testing.T) {
		t.Parallel()
		c := testClaims()
		c.Item, c.Visitor = `a"b\c<>&é`, "\x01 "
		got, err := verifierAt(testNow, k).Verify(k.Sign(c), c.Item)
		if err != nil || got != c {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("a key in print shows its id alone", func(t *testing.T) {
		t.Parallel()
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x", "%q"} {
			if got := fmt.Sprintf(verb, k); got != "pass key "+k.ID() {
				t.Errorf("%s: %s", verb, got)
			}
		}
	})
}

// Invariant own-token.
func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	k, other := testKey(1), testKey(2)
	good := k.Sign(testClaims())
	parts := strings.Split(good, ".")
	header, payload := headerText(k), string(testClaims().marshal())
	noSignature := func(header string) string { return b64.EncodeToString([]byte(header)) + "." + parts[1] + "." }
	hs256 := func() string { // the public key as an HMAC secret: the classical confusion
		message := b64.EncodeToString([]byte(`{"alg":"HS256","kid":"`+k.ID()+`","typ":"JWT"}`)) + "." + parts[1]
		mac := hmac.New(sha256.New, k.Public())
		mac.Write([]byte(message))
		return message + "." + b64.EncodeToString(mac.Sum(nil))
	}
	with := func(change func(*Claims)) string {
		c := testClaims()
		change(&c)
		return k.Sign(c)
	}
	replaced := func(old, new string) string { return signed(k, header, strings.Replace(payload, old, new, 1)) }

	for _, tt := range []struct {
		name  string
		token string
		want  error
	}{
		{"nothing", "", ErrMalformed},
		{"a dot", ".", ErrMalformed},
		{"two dots", "..", ErrMalformed},
		{"letters", "a.b.c", ErrMalformed},
		{"an empty object", "e30.e30.", ErrMalformed},
		{"a flood of letters", strings.Repeat("A", 8000), ErrMalformed},
		{"bytes that are no text", "\x00\xff", ErrMalformed},
		{"a trailing space", good + " ", ErrMalformed},
		{"a trailing line break", good + "\n", ErrMalformed},
		{"a line break in the signature", parts[0] + "." + parts[1] + "." + "\n" + parts[2][1:], ErrMalformed},
		{"a line break in the claims", parts[0] + "." + parts[1][:8] + "\n" + parts[1][8:] + "." + parts[2], ErrMalformed},
		{"padding", good + "==", ErrMalformed},
		{"a fourth part", good + ".x", ErrMalformed},
		{"no signature", parts[0] + "." + parts[1] + ".", ErrMalformed},
		{"longer than any pass", signed(k, header, strings.Replace(payload, "}", `,"x":"`+strings.Repeat("x", 4096)+`"}`, 1)), ErrMalformed},
		{"alg none", noSignature(`{"alg":"none","typ":"JWT"}`), ErrMalformed},
		{"alg none with a signature", signed(k, `{"alg":"none","kid":"`+k.ID()+`","typ":"JWT"}`, payload), ErrSignature},
		{"alg HS256 with the public key", hs256(), ErrMalformed},
		{"alg in other letters", signed(k, `{"alg":"eddsa","kid":"`+k.ID()+`","typ":"JWT"}`, payload), ErrSignature},
		{"alg twice", signed(k, `{"alg":"EdDSA","alg":"none","kid":"`+k.ID()+`","typ":"JWT"}`, payload), ErrSignature},
		{"a critical extension", signed(k, `{"alg":"EdDSA","b64":false,"crit":["b64"],"kid":"`+k.ID()+`","typ":"JWT"}`, payload), ErrSignature},
		{"a key that it brings along", signed(other, `{"alg":"EdDSA","jwk":{"kty":"OKP"},"kid":"`+k.ID()+`"}`, payload), ErrSignature},
		{"no kid", signed(k, `{"alg":"EdDSA","typ":"JWT"}`, payload), ErrSignature},
		{"an unknown key", other.Sign(testClaims()), ErrUnknownKey},
		{"an unknown key under a known kid", signed(other, header, payload), ErrSignature},
		{"another item", with(func(c *Claims) { c.Item = "sku-2" }), ErrAudience},
		{"an item in other letters", with(func(c *Claims) { c.Item = "SKU-1" }), ErrAudience},
		{"another issuer", with(func(c *Claims) { c.Issuer += "/" }), ErrIssuer},
		{"claims that are no object", signed(k, header, `[]`), ErrMalformed},
		{"claims that are null", signed(k, header, `null`), ErrMalformed},
		{"claims that are cut off", signed(k, header, payload[:len(payload)-1]), ErrMalformed},
		{"something after the claims", signed(k, header, payload+"{}"), ErrMalformed},
		{"a claim twice", replaced(`"aud":"sku-1"`, `"aud":"sku-2","aud":"sku-1"`), ErrMalformed},
		{"an unknown claim twice", replaced(`"aud"`, `"x":1,"x":2,"aud"`), ErrMalformed},
		{"no item", replaced(`"aud":"sku-1",`, ``), ErrMalformed},
		{"a name of a claim in other letters", replaced(`"aud"`, `"AUD"`), ErrMalformed},
		{"items as a list", replaced(`"sku-1"`, `["sku-1"]`), ErrMalformed},
		{"an expiry as text", replaced(`1796123100`, `"1796123100"`), ErrMalformed},
		{"an expiry with a fraction", replaced(`1796123100`, `1796123100.5`), ErrMalformed},
		{"an expiry with an exponent", replaced(`1796123100`, `1e99`), ErrMalformed},
		{"an expiry past all calendars", replaced(`1796123100`, `9223372036854775807`), ErrMalformed},
		{"a negative instant of issue", replaced(`"iat":1796122800`, `"iat":-1`), ErrMalformed},
		{"an expiry that is null", replaced(`1796123100`, `null`), ErrMalformed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := verifierAt(testNow, k)
			v.Cache = NewCache(100)
			for range 2 { // the second time with what the first has left in the cache
				if c, err := v.Verify(tt.token, testItem); !errors.Is(err, tt.want) || c != (Claims{}) {
					t.Fatalf("got %+v, %v; want %v", c, err, tt.want)
				}
			}
		})
	}
}

func TestVerifyTakesClaimsItDoesNotKnow(t *testing.T) {
	t.Parallel()
	k := testKey(1)
	payload := strings.Replace(string(testClaims().marshal()), `"gen"`, `"new":{"a":[1]},"gen"`, 1)
	if _, err := verifierAt(testNow, k).Verify(signed(k, headerText(k), payload), testItem); err != nil {
		t.Error(err)
	}
}

// B016: the last character changed, + and / for - and _, and everything else that differs in one place.
func TestVerifyRefusesEveryChangeOfOneCharacter(t *testing.T) {
	t.Parallel()
	k := testKey(1)
	good := k.Sign(testClaims())
	v := verifierAt(testNow, k)
	v.Cache = NewCache(100)
	if _, err := v.Verify(good, testItem); err != nil {
		t.Fatal(err)
	}
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for i := range len(good) {
		replacements := "A_+/=. \n\x00\xff"
		if i == len(good)-1 {
			replacements += alphabet // some of these differ only in bits that no byte has
		}
		for _, r := range []byte(replacements) {
			if r == good[i] {
				continue
			}
			bad := good[:i] + string([]byte{r}) + good[i+1:]
			if _, err := v.Verify(bad, testItem); err == nil {
				t.Fatalf("character %d as %q is taken", i, r)
			}
		}
	}
	if n := v.Cache.Len(); n != 1 {
		t.Errorf("%d passes in the cache, want the good one alone", n)
	}
}

// B080
func TestVerifyAllowsForClocks(t *testing.T) {
	t.Parallel()
	k := testKey(1)
	token := k.Sign(testClaims())
	for _, tt := range []struct {
		name string
		at   time.Time
		want error
	}{
		{"at the instant of issue", testNow, nil},
		{"30 s before it", testNow.Add(-30 * time.Second), nil},
		{"31 s before it", testNow.Add(-31 * time.Second), ErrNotYet},
		{"at exp", testClaims().ExpiresAt, nil},
		{"4 s after exp", testClaims().ExpiresAt.Add(4 * time.Second), nil},
		{"just less than 5 s after exp", testClaims().ExpiresAt.Add(5*time.Second - 1), nil},
		{"5 s after exp, when the slot is given away", testClaims().ExpiresAt.Add(5 * time.Second), ErrExpired},
		{"6 s after exp", testClaims().ExpiresAt.Add(6 * time.Second), ErrExpired},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := verifierAt(testNow, k)
			v.Cache = NewCache(100)
			if _, err := v.Verify(token, testItem); err != nil {
				t.Fatal(err)
			}
			v.Now = func() time.Time { return tt.at } // now from the cache
			_, cached := v.Verify(token, testItem)
			_, fresh := verifierAt(tt.at, k).Verify(token, testItem)
			if !errors.Is(fresh, tt.want) || !errors.Is(cached, tt.want) {
				t.Errorf("got %v, from the cache %v; want %v", fresh, cached, tt.want)
			}
			if tt.want == ErrNotYet && !strings.Contains(fresh.Error(), "clock") {
				t.Errorf("%q does not say clock", fresh)
			}
		})
	}
}

func TestAnExpiredPassStillSaysWhoseItWas(t *testing.T) {
	t.Parallel()
	k := testKey(1)
	v := verifierAt(testNow.Add(time.Hour), k)
	token := k.Sign(testClaims())
	if c, err := v.Verify(token, testItem); !errors.Is(err, ErrExpired) || c != testClaims() {
		t.Errorf("got %+v, %v", c, err)
	}
	if c, err := v.Verify(token, "sku-2"); !errors.Is(err, ErrAudience) || c != (Claims{}) {
		t.Errorf("for another item: got %+v, %v", c, err)
	}
	forged := token[:len(token)-8] + "AAAAAAAA"
	if c, err := v.Verify(forged, testItem); err == nil || errors.Is(err, ErrExpired) || c != (Claims{}) {
		t.Errorf("forged: got %+v, %v", c, err)
	}
}

func TestKnownIsAskedBeforeTheSignature(t *testing.T) {
	t.Parallel()
	k := testKey(1)
	v := verifierAt(testNow, k)
	asked := 0
	v.Known = func(c Claims) bool { asked++; return c.ID == testClaims().ID }
	if _, err := v.Verify(k.Sign(testClaims()), testItem); err != nil || asked != 1 {
		t.Errorf("%v, asked %d times", err, asked)
	}
	forged := testClaims()
	forged.ID = "forged"
	if _, err := v.Verify(k.Sign(forged), testItem); !errors.Is(err, ErrSignature) || asked != 2 {
		t.Errorf("%v, asked %d times", err, asked)
	}
}

func TestJWKS(t *testing.T) {
	t.Parallel()
	a, b := testKey(1), testKey(2)

	t.Run("a set comes back as it was written", func(t *testing.T) {
		t.Parallel()
		written := NewKeys(a, b).MarshalJWKS()
		keys, err := ParseJWKS(written)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(keys.MarshalJWKS()); got != string(written) {
			t.Errorf("got %s", got)
		}
		if ids := keys.IDs(); len(ids) != 2 || ids[0] != a.ID() || ids[1] != b.ID() {
			t.Errorf("ids %v", ids)
		}
		v := verifierAt(testNow)
		v.Keys = keys
		for _, k := range []*Key{a, b} {
			if _, err := v.Verify(k.Sign(testClaims()), testItem); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("it has the members that verifiers look for", func(t *testing.T) {
		t.Parallel()
		var set struct{ Keys []map[string]string }
		if err := json.Unmarshal(NewKeys(a).MarshalJWKS(), &set); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"kty": "OKP", "crv": "Ed25519", "kid": a.ID(), "use": "sig", "alg": "EdDSA", "x": b64.EncodeToString(a.Public())}
		if len(set.Keys) != 1 || fmt.Sprint(set.Keys[0]) != fmt.Sprint(want) {
			t.Errorf("got %v", set.Keys)
		}
	})
	t.Run("an empty set is written as a list", func(t *testing.T) {
		t.Parallel()
		if got := string(NewKeys().MarshalJWKS()); got != `{"keys":[]}` {
			t.Error(got)
		}
	})

	x := b64.EncodeToString(a.Public())
	for _, tt := range []struct {
		name, set string
		keys      int // 0 = refused
	}{
		{"keys of other kinds are left out", `{"keys":[{"kty":"RSA","kid":"r","n":"AQ","e":"AQAB"},{"kty":"OKP","crv":"X25519","kid":"x","x":"` + x + `"},{"kty":"OKP","crv":"Ed25519","kid":"k","x":"` + x + `"}]}`, 1},
		{"a key to encrypt with is left out", `{"keys":[{"kty":"OKP","crv":"Ed25519","use":"enc","kid":"k","x":"` + x + `"}]}`, 0},
		{"no set", `<html>`, 0},
		{"nothing", ``, 0},
		{"no keys", `{"keys":[]}`, 0},
		{"a short key", `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","x":"AAAA"}]}`, 0},
		{"a key that is no base64url", `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","x":"` + strings.Repeat("+", 43) + `"}]}`, 0},
		{"no kid", `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + x + `"}]}`, 0},
		{"a kid that would end the header", `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a\",\"b\":\"","x":"` + x + `"}]}`, 0},
		{"the same kid twice", `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","x":"` + x + `"},{"kty":"OKP","crv":"Ed25519","kid":"k","x":"` + b64.EncodeToString(b.Public()) + `"}]}`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			keys, err := ParseJWKS([]byte(tt.set))
			if (err == nil) != (tt.keys > 0) || err == nil && len(keys.IDs()) != tt.keys {
				t.Errorf("got %v, %v", keys, err)
			}
		})
	}
}
