package pass

import (
	"errors"
	"fmt"
	"sync"
	"testing"
)

func TestCache(t *testing.T) {
	t.Parallel()

	t.Run("it never holds more than it may", func(t *testing.T) {
		t.Parallel()
		c := NewCache(320)
		for i := range 10_000 {
			c.put(fmt.Sprint("token ", i), Claims{Generation: int64(i)})
			c.get("token 0") // in use all the time
			if n := c.Len(); n > 320 {
				t.Fatalf("%d after %d", n, i+1)
			}
		}
		if c.Len() < 160 {
			t.Errorf("only %d", c.Len())
		}
		if got, ok := c.get("token 0"); !ok || got.Generation != 0 {
			t.Error("what is in use was forgotten")
		}
		if got, ok := c.get("token 9999"); !ok || got.Generation != 9999 {
			t.Error("the newest was forgotten")
		}
		if _, ok := c.get("token 1"); ok {
			t.Error("what was not used is still there")
		}
	})
	t.Run("a key that was withdrawn takes its passes along", func(t *testing.T) {
		t.Parallel()
		k := testKey(1)
		token := k.Sign(testClaims())
		v := verifierAt(testNow, k)
		v.Cache = NewCache(100)
		if _, err := v.Verify(token, testItem); err != nil {
			t.Fatal(err)
		}
		after := verifierAt(testNow, testKey(2))
		after.Cache = v.Cache
		if _, err := after.Verify(token, testItem); !errors.Is(err, ErrUnknownKey) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a pass of one item in it is no pass of another", func(t *testing.T) {
		t.Parallel()
		k := testKey(1)
		v := verifierAt(testNow, k)
		v.Cache = NewCache(100)
		token := k.Sign(testClaims())
		for range 2 {
			if _, err := v.Verify(token, testItem); err != nil {
				t.Error(err)
			}
			if _, err := v.Verify(token, "sku-2"); !errors.Is(err, ErrAudience) {
				t.Errorf("got %v", err)
			}
		}
	})
	t.Run("many may use it at once", func(t *testing.T) {
		t.Parallel()
		k := testKey(1)
		v := verifierAt(testNow, k)
		v.Cache = NewCache(40)
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for i := range 50 {
					c := testClaims()
					c.Generation = int64((g + i) % 20)
					got, err := v.Verify(k.Sign(c), testItem)
					if err != nil || got != c {
						t.Errorf("got %+v, %v", got, err)
					}
				}
			})
		}
		wg.Wait()
	})
}
