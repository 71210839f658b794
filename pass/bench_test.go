package pass

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func BenchmarkSign(b *testing.B) {
	k := testKey(1)
	b.ReportAllocs()
	for b.Loop() {
		k.Sign(testClaims())
	}
}

func BenchmarkVerify(b *testing.B) {
	k := testKey(1)
	for _, tt := range []struct {
		name   string
		passes int
		cache  *Cache
	}{
		{"without a cache", 1, nil},
		{"one pass cached", 1, NewCache(100)},
		{"20,000 passes cached", 20_000, NewCache(60_000)},
	} {
		b.Run(tt.name, func(b *testing.B) {
			v := verifierAt(testNow, k)
			v.Cache = tt.cache
			tokens := make([]string, tt.passes)
			for i := range tokens {
				c := testClaims()
				c.ID = fmt.Sprint(i)
				tokens[i] = k.Sign(c)
				if _, err := v.Verify(tokens[i], testItem); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := v.Verify(tokens[i%len(tokens)], testItem); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkForged is what one pass of a flood of forged ones costs.
func BenchmarkForged(b *testing.B) {
	k := testKey(1)
	forged := signed(testKey(2), headerText(k), string(testClaims().marshal()))
	for _, tt := range []struct {
		name  string
		known func(Claims) bool
	}{
		{"by the signature", nil},
		{"by the id", func(Claims) bool { return false }},
	} {
		b.Run(tt.name, func(b *testing.B) {
			v := verifierAt(testNow, k)
			v.Known = tt.known
			v.Now = func() time.Time { return testNow }
			b.ReportAllocs()
			for b.Loop() {
				if _, err := v.Verify(forged, testItem); !errors.Is(err, ErrSignature) {
					b.Fatal(err)
				}
			}
		})
	}
}
