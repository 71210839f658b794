package knownuser

import (
	"strings"
	"testing"
)

// FuzzAppend: an address gets one token and keeps all else, however often it comes by.
func FuzzAppend(f *testing.F) {
	for _, s := range []string{"/p", "/p?", "https://shop.example/p?a=1&queueittoken=old#f", "?&&", "#", "/p?queueittoken", "/p#?queueittoken=x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, address string) {
		once := Append(address, "T")
		if again := Append(once, "T"); again != once {
			t.Errorf("%q becomes %q, and then %q", address, once, again)
		}
		_, query, _ := strings.Cut(strings.SplitN(once, "#", 2)[0], "?")
		n := 0
		for part := range strings.SplitSeq(query, "&") {
			if name, _, _ := strings.Cut(part, "="); name == Param {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%q has %d tokens", once, n)
		}
	})
}

// FuzzEvents: a list of cancelled events gives no more than it holds, and nothing that is a separator.
func FuzzEvents(f *testing.F) {
	for _, s := range []string{"a~1_b~2", "", "___", "~", "a", strings.Repeat("a~_", 100)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		events := Events(list)
		if len(events) > strings.Count(list, "_")+1 {
			t.Errorf("%d events in %q", len(events), list)
		}
		for _, e := range events {
			if e == "" || strings.ContainsAny(e, "~_") || !strings.Contains(list, e) {
				t.Errorf("%q gives %q", list, e)
			}
		}
	})
}
