package queue_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/queue"
)

var (
	itemForm    = regexp.MustCompile(`^[A-Za-z0-9._~:@-]{1,128}$`)
	visitorForm = regexp.MustCompile(`^[A-Za-z0-9_-]{16,22}$`)
)

func TestParseItem(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, item string
		ok         bool
	}{
		{"one character is enough", "a", true},
		{"every character that may stand in it", "AZaz09._~:@-", true},
		{"dots alone are an item like any other", "..", true},
		{"the longest", strings.Repeat("a", 128), true},
		{"nothing", "", false},
		{"one too long", strings.Repeat("a", 129), false},
		{"a slash would be another route", "a/b", false},
		{"a star is for patterns", "a*", false},
		{"a brace would be another hash tag", "a}b", false},
		{"a space", "a b", false},
		{"an escape is not decoded a second time", "a%2Fb", false},
		{"a letter beyond ASCII", "é", false},
		{"a byte that is no text", "a\xff", false},
		{"a line end at the end", "a\n", false},
		{"a NUL", "a\x00", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := queue.ParseItem(tc.item)
			if tc.ok && (err != nil || got != queue.Item(tc.item)) || !tc.ok && (!errors.Is(err, queue.ErrInvalidItem) || got != "") {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestParseVisitor(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, visitor string
		ok            bool
	}{
		{"the shortest", "abcdefghijklmnop", true},
		{"the longest", "abcdefghijklmnopqrstuv", true},
		{"the alphabet of base64 for addresses", "AZaz09_-AZaz09_-", true},
		{"one too short", "abcdefghijklmno", false},
		{"one too long", "abcdefghijklmnopqrstuvw", false},
		{"nothing", "", false},
		{"a dot may stand in items alone", "abcdefghijklmno.", false},
		{"so may a colon", "abcdefghijklmno:", false},
		{"so may an at sign", "abcdefghijklmno@", false},
		{"so may a tilde", "abcdefghijklmno~", false},
		{"base64 of the other kind", "abcdefghijklmn+/", false},
		{"padding", "abcdefghijklmno=", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := queue.ParseVisitor(tc.visitor)
			if tc.ok && (err != nil || got != queue.Visitor(tc.visitor)) || !tc.ok && (!errors.Is(err, queue.ErrInvalidVisitor) || got != "") {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestNewVisitorsAreVisitorsAndNobodyElse(t *testing.T) {
	t.Parallel()
	seen := map[queue.Visitor]bool{}
	for range 10_000 {
		v := queue.NewVisitor()
		if _, err := queue.ParseVisitor(string(v)); err != nil || len(v) != 16 {
			t.Fatalf("%q: %v", v, err)
		}
		if seen[v] {
			t.Fatalf("%q came twice", v)
		}
		seen[v] = true
	}
}

func TestAVisitorOfAHashIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	hash := []byte("0123456789abcdef0123456789abcdef")
	v := queue.VisitorOf(hash)
	if again := queue.VisitorOf(hash[:12]); v != again || len(v) != 16 {
		t.Errorf("%q, then %q", v, again)
	}
	if _, err := queue.ParseVisitor(string(v)); err != nil {
		t.Error(err)
	}
}

func TestAShortVisitorIsNoVisitor(t *testing.T) {
	t.Parallel()
	for v, want := range map[queue.Visitor]string{"abcdefghijklmnop": "abcdef…", "abcdef": "abcdef", "": ""} {
		if got := v.Short(); got != want {
			t.Errorf("%q: %q, want %q", v, got, want)
		}
	}
}

func FuzzParseItem(f *testing.F) {
	for _, s := range []string{"", "sku-1", "a/b", "*", "\x00", "é", strings.Repeat("~", 128), strings.Repeat("~", 129), "a\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		item, err := queue.ParseItem(s)
		if (err == nil) != itemForm.MatchString(s) || err == nil && string(item) != s {
			t.Errorf("%q: %q, %v", s, item, err)
		}
	})
}

func FuzzParseVisitor(f *testing.F) {
	for _, s := range []string{"", "abcdefghijklmnop", "abcdefghijklmno.", "abcdefghijklmnopqrstuvw", "abcdefghijklmnop\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := queue.ParseVisitor(s)
		if (err == nil) != visitorForm.MatchString(s) || err == nil && string(v) != s {
			t.Errorf("%q: %q, %v", s, v, err)
		}
	})
}
