package secreturl_test

import (
	"strings"
	"testing"

	"github.com/sluicehq/sluice/internal/secreturl"
)

func TestParse(t *testing.T) {
	t.Parallel()
	u, err := secreturl.Parse("Redis://app:p%40s%2Fs=w+d%2525%23x@a.example:1,[::1]:2/3?x=%2Fy")
	if err != nil {
		t.Fatal(err)
	}
	if u.Scheme != "redis" || u.User != "app" || u.Password != "p@s/s=w+d%25#x" || u.Path != "/3" || u.Query["x"] != "/y" {
		t.Errorf("%+v", u)
	}
	if strings.Join(u.Hosts, " ") != "a.example:1 [::1]:2" {
		t.Errorf("hosts %q", u.Hosts)
	}
}

// B173: a password that is written raw is refused, and no part of it is shown.
func TestParseRefusesWhatIsAmbiguousAndShowsNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, raw string }{
		{"an at sign in the password", "redis://:pass@word@h:1"},
		{"a slash in the password", "redis://:pass/word@h:1"},
		{"a hash in the password", "redis://:pass#word@h:1"},
		{"a question mark in the password", "redis://:pass?word@h:1"},
		{"a percent sign in the password", "redis://:pass%word@h:1"},
		{"a space in the password", "redis://:pass word@h:1"},
		{"no at sign", "redis://user:password"},
		{"no scheme", "user:password@h:1"},
		{"port zero", "redis://:password@h:0"},
		{"a port too high", "redis://:password@h:65536"},
		{"an empty host in the list", "redis://:password@h:1,,g:2"},
		{"the same name twice in the query", "redis://h?x=password&x=word"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := secreturl.Parse(c.raw)
			if err == nil {
				t.Fatal("taken")
			}
			for _, part := range []string{"pass@", "password", "pass/", "pass#word", "s/word", "%word"} {
				if strings.Contains(strings.ReplaceAll(err.Error(), "the password", ""), part) {
					t.Errorf("shows %q: %v", part, err)
				}
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("redis://u:p@h:1/0?a=b")
	f.Add("unix:///run/s?db=1")
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := secreturl.Parse(raw)
		if err == nil && strings.Contains(u.Scheme, ":") {
			t.Errorf("scheme %q", u.Scheme)
		}
	})
}
