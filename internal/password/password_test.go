package password

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestHash(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	hash, err := Hash(ctx, "korrekt horse")
	if err != nil || !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Fatalf("hash %q %v", hash, err)
	}
	if again, _ := Hash(ctx, "korrekt horse"); again == hash {
		t.Error("two hashes of one password are alike: no salt")
	}
	for _, c := range []struct {
		name, plain, hash string
		ok                bool
	}{
		{"the password", "korrekt horse", hash, true},
		{"another", "korrekt hors", hash, false},
		{"none", "", hash, false},
		{"a user without a password", "", "", false},
		{"nobody", "korrekt horse", "", false},
		{"a very long one", strings.Repeat("x", 1<<20), hash, false},
	} {
		if ok, err := Matches(ctx, c.plain, c.hash); ok != c.ok || err != nil {
			t.Errorf("%s: %v %v", c.name, ok, err)
		}
	}
	if _, err := Matches(ctx, "korrekt horse", "md5:1234"); err == nil {
		t.Error("a hash of another kind is no error")
	}
}

func TestLength(t *testing.T) {
	t.Parallel()
	for plain, ok := range map[string]bool{"": false, "123456789": false, "1234567890": true, "비밀번호는열글자입니다": true,
		strings.Repeat("x", 201): false, "bytes\xffbytes": false} {
		if _, err := Hash(t.Context(), plain); (err == nil) != ok || err != nil && !errors.Is(err, ErrLength) {
			t.Errorf("%q: %v", plain, err)
		}
	}
}

func TestWhoGivesUpDoesNotHash(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10 { // a free place and the end are both ready: either may be taken
		if _, err := Hash(ctx, "korrekt horse"); errors.Is(err, context.Canceled) {
			return
		}
	}
	t.Error("hashed for a caller who has gone")
}
