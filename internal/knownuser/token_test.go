package knownuser

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestATokenIsWrittenInItsOrder(t *testing.T) {
	t.Parallel()
	until := time.Unix(1_796_000_180, 0)
	for name, c := range map[string]struct {
		token Token
		want  string
	}{
		"renewed by requests": {
			Token{Event: "SKU-1", QueueID: "id", Until: until, Extendable: true, Type: Queue},
			"e_SKU-1~q_id~ts_1796000180~ce_true~rt_queue~h_",
		},
		"of a fixed session": {
			Token{Event: "sku-1", QueueID: "id", Until: until, Minutes: 5, Type: SafetyNet},
			"e_sku-1~q_id~ts_1796000180~ce_false~cv_5~rt_safetynet~h_",
		},
	} {
		got := c.token.Sign("secret")
		body, sum, _ := strings.Cut(got, "~h_")
		if body+"~h_" != c.want || len(sum) != 64 {
			t.Errorf("%s: %s", name, got)
		}
		if other := c.token.Sign("other"); other == got {
			t.Errorf("%s: two secrets sign alike", name)
		}
	}
}

// B179: the address stays what it was, byte for byte, but for one fresh token.
func TestATokenIsAppendedAndReplaced(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://shop.example/p":                                  "https://shop.example/p?queueittoken=T",
		"https://shop.example/p?":                                 "https://shop.example/p?queueittoken=T",
		"https://shop.example/p?a=1&b=%2520&q=가#f":                "https://shop.example/p?a=1&b=%2520&q=가&queueittoken=T#f",
		"https://shop.example/a%2Fb?x=1":                          "https://shop.example/a%2Fb?x=1&queueittoken=T",
		"https://shop.example:8443/p?queueittoken=old&a=1":        "https://shop.example:8443/p?a=1&queueittoken=T",
		"https://shop.example/p?a=1&queueittoken=old&b=2":         "https://shop.example/p?a=1&b=2&queueittoken=T",
		"/p?a=1&queueittoken=old":                                 "/p?a=1&queueittoken=T",
		"/p?xqueueittoken=1&a=%26queueittoken=2#queueittoken=old": "/p?xqueueittoken=1&a=%26queueittoken=2&queueittoken=T#queueittoken=old",
	} {
		if got := Append(in, "T"); got != want {
			t.Errorf("%s became %s, not %s", in, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		address := rapid.StringMatching(`https?://[a-z.]{1,20}(:[0-9]{2,4})?(/[a-zA-Z0-9%./-]{0,30})?(\?[a-z&=%]{0,30})?(#[a-z?&=]{0,10})?`).Draw(t, "address")
		once := Append(address, "T")
		if again := Append(once, "T"); again != once {
			t.Fatalf("%s, then %s", once, again)
		}
	})
}

func TestQueueIDsLookLikeUUIDs(t *testing.T) {
	t.Parallel()
	a, b := QueueID("sku-1", "visitor"), QueueID("sku-2", "visitor")
	if len(a) != 36 || a == b || a != QueueID("sku-1", "visitor") {
		t.Errorf("%s %s", a, b)
	}
}

func TestEventsOfAListToCancel(t *testing.T) {
	t.Parallel()
	if got := Events("a-1~11-22_b-2_~x_c"); !slices.Equal(got, []string{"a-1", "b-2", "c"}) {
		t.Error(got)
	}
}
