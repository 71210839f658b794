package queue_test

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/queue"
)

// naive is the pattern as a regular expression: slow, and plainly right.
func naive(p queue.Pattern) *regexp.Regexp {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(string(p)), `\*`, ".*") + "$")
}

func TestParsePattern(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, pattern string
		ok            bool
	}{
		{"an item id", "sku-1", true},
		{"a star alone", "*", true},
		{"stars anywhere", "*a**b*", true},
		{"the longest", strings.Repeat("*", 128), true},
		{"nothing", "", false},
		{"one too long", strings.Repeat("*", 129), false},
		{"a slash", "a/*", false},
		{"a question mark is no wildcard", "a?", false},
		{"a class is no wildcard", "[a-z]", false},
		{"a letter beyond ASCII", "é*", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := queue.ParsePattern(tc.pattern)
			if tc.ok && (err != nil || string(got) != tc.pattern) || !tc.ok && (!errors.Is(err, queue.ErrInvalidPattern) || got != "") {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		pattern queue.Pattern
		item    queue.Item
		want    bool
	}{
		{"the item itself", "sku-1", "sku-1", true},
		{"an item that goes on", "sku-1", "sku-10", false},
		{"case counts", "SKU-1", "sku-1", false},
		{"a dot is a dot", "a.c", "abc", false},
		{"a star alone takes all", "*", "sku-1", true},
		{"a star for nothing", "sku-1*", "sku-1", true},
		{"a star at the end", "sku-*", "sku-12", true},
		{"a star in front", "*-1", "sku-1", true},
		{"a star in the middle", "a*c", "abbbc", true},
		{"front and end may not share a character", "ab*ba", "aba", false},
		{"front, middle and end may not share one either", "a*b*a", "aa", false},
		{"two stars side by side are one", "a**c", "abc", true},
		{"the middle is looked for from the left", "a*b*b", "abb", true},
		{"the end counts from the right", "*ab", "abab", true},
		{"a middle that is not there", "a*x*c", "abc", false},
		{"a middle in the wrong order", "*x*y*", "yx", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := tc.pattern.Match(tc.item); got != tc.want {
				t.Errorf("%q of %q: %v", tc.pattern, tc.item, got)
			}
		})
	}
}

func TestMatchIsWhatARegularExpressionSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := queue.Pattern(rapid.StringMatching(`[ab.*]{1,8}`).Draw(t, "pattern"))
		item := queue.Item(rapid.StringMatching(`[ab.]{1,10}`).Draw(t, "item"))
		if got, want := p.Match(item), naive(p).MatchString(string(item)); got != want {
			t.Fatalf("%q of %q: %v, want %v", p, item, got, want)
		}
	})
}

func TestCompareOrdersByHowSpecific(t *testing.T) {
	t.Parallel()
	// The most specific first.
	want := []queue.Pattern{
		"sku-1", "a", // exact, however short
		"sku-1*2", "sku-1*", // then the longest literal prefix, then the longest pattern
		"sku-*", "sk*-long-end", "s*a", "s*b", "s*", // then the text
		"*sku-1-at-the-end", "*a", "*",
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, queue.Pattern.Compare)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCompareIsAnOrder(t *testing.T) {
	t.Parallel()
	pattern := rapid.StringMatching(`[ab*]{1,5}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := queue.Pattern(pattern.Draw(t, "a")), queue.Pattern(pattern.Draw(t, "b")), queue.Pattern(pattern.Draw(t, "c"))
		if (a.Compare(b) == 0) != (a == b) || a.Compare(b) != -b.Compare(a) {
			t.Fatalf("%q to %q: %d and %d", a, b, a.Compare(b), b.Compare(a))
		}
		if a.Compare(b) < 0 && b.Compare(c) < 0 && a.Compare(c) >= 0 {
			t.Fatalf("%q < %q < %q, but not %q < %q", a, b, c, a, c)
		}
	})
}

// TestForFindsTheMostSpecificMatch compares with a look at every pattern.
func TestForFindsTheMostSpecificMatch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		byPattern := map[queue.Pattern]queue.Policy{}
		for i, s := range rapid.SliceOfN(rapid.StringMatching(`[ab*]{1,6}`), 0, 20).Draw(t, "patterns") {
			p := queue.DefaultPolicy()
			p.TriggerRequests = int64(1000 + i)
			byPattern[queue.Pattern(s)] = p
		}
		ps := queue.NewPolicies(7, byPattern)
		for range 5 {
			item := queue.Item(rapid.StringMatching(`[ab]{1,7}`).Draw(t, "item"))
			var matches []queue.Pattern
			for p := range byPattern {
				if naive(p).MatchString(string(item)) {
					matches = append(matches, p)
				}
			}
			slices.SortFunc(matches, func(a, b queue.Pattern) int {
				exact := func(p queue.Pattern) int { return strings.Count(string(p), "*") }
				prefix := func(p queue.Pattern) int { return strings.IndexByte(string(p)+"*", '*') }
				return cmp.Or(
					cmp.Compare(min(exact(a), 1), min(exact(b), 1)), cmp.Compare(prefix(b), prefix(a)),
					cmp.Compare(len(b), len(a)), cmp.Compare(a, b),
				)
			})
			want, policy := queue.Pattern("*"), queue.DefaultPolicy()
			if len(matches) > 0 {
				want, policy = matches[0], byPattern[matches[0]]
			}
			if got, p := ps.For(item); got != want || p.TriggerRequests != policy.TriggerRequests {
				t.Fatalf("%q: %q (%d), want %q (%d) of %q", item, got, p.TriggerRequests, want, policy.TriggerRequests, matches)
			}
		}
	})
}

func TestPoliciesThatNobodyWroteAreTheDefault(t *testing.T) {
	t.Parallel()
	ps := queue.NewPolicies(0, nil)
	if pattern, p := ps.For("sku-1"); pattern != "*" || p.TriggerRequests != queue.DefaultPolicy().TriggerRequests {
		t.Errorf("%q, %+v", pattern, p)
	}
	if ps.Version() != 0 || len(ps.Exact()) != 0 {
		t.Errorf("version %d, exact %q", ps.Version(), ps.Exact())
	}
}

func TestExactListsItemsOfTheirOwn(t *testing.T) {
	t.Parallel()
	ps := queue.NewPolicies(3, map[queue.Pattern]queue.Policy{"*": {}, "b": {}, "a*": {}, "a": {}})
	if got := ps.Exact(); !slices.Equal(got, []queue.Item{"a", "b"}) || ps.Version() != 3 {
		t.Errorf("version %d, %q", ps.Version(), got)
	}
}

func FuzzParsePattern(f *testing.F) {
	form := regexp.MustCompile(`^[A-Za-z0-9._~:@*-]{1,128}$`)
	for _, s := range [][2]string{{"*", "a"}, {"a*b", "aXb"}, {"a**b*", "ab"}, {"", ""}, {"é*", "é"}, {strings.Repeat("*a", 64), strings.Repeat("a", 128)}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, s, id string) {
		p, err := queue.ParsePattern(s)
		if (err == nil) != form.MatchString(s) || err == nil && string(p) != s {
			t.Fatalf("%q: %q, %v", s, p, err)
		}
		item, notItem := queue.ParseItem(id)
		if err != nil || notItem != nil {
			return
		}
		if p.Exact() == strings.Contains(s, "*") || p.Match(item) != naive(p).MatchString(id) {
			t.Errorf("%q of %q: exact %v, match %v", p, item, p.Exact(), p.Match(item))
		}
	})
}
