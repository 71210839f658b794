package pass

import (
	"strings"
	"testing"
)

// FuzzVerify: whatever the token says, it does not verify unless the key signed it.
func FuzzVerify(f *testing.F) {
	k := testKey(1)
	good := k.Sign(testClaims())
	parts := strings.Split(good, ".")
	for _, s := range []string{
		"", ".", "..", "a.b.c", "e30.e30.", good, good + " ", good[:len(good)-1], parts[0] + "..", parts[0] + "." + parts[1] + ".",
		parts[0] + ".e30." + parts[2], testKey(2).Sign(testClaims()), "\x00\xff", strings.Repeat("A", 5000),
	} {
		f.Add(s)
	}
	v := verifierAt(testNow, k)
	v.Cache = NewCache(100)
	f.Fuzz(func(t *testing.T, token string) {
		c, err := v.VerifyAny(token)
		if (err == nil) != (token == good) {
			t.Errorf("%q: %+v, %v", token, c, err)
		}
	})
}

// FuzzClaims: what parses is signed as what parses to the same claims.
func FuzzClaims(f *testing.F) {
	f.Add(testClaims().marshal())
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"iss":"","aud":"","sub":"","jti":"","iat":0,"exp":0,"gen":0,"x":[{}]}`))
	f.Add([]byte(strings.Repeat(`{"a":`, 1000)))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := parseClaims(b)
		if err != nil {
			return
		}
		if again, err := parseClaims(c.marshal()); err != nil || again != c {
			t.Errorf("%+v, then %+v, %v", c, again, err)
		}
	})
}

func FuzzParseJWKS(f *testing.F) {
	f.Add(NewKeys(testKey(1), testKey(2)).MarshalJWKS())
	f.Add([]byte(`{"keys":[]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		keys, err := ParseJWKS(b)
		if err != nil {
			return
		}
		if _, err := ParseJWKS(keys.MarshalJWKS()); err != nil {
			t.Errorf("what was read cannot be written: %v", err)
		}
	})
}
