// Package itempattern finds the item that a request path is for, by the patterns of --item-pattern.
//
// A way round the waiting room must not be a matter of spelling, so paths are folded before they are compared: one
// percent-decoding, `\` as `/`, `;parameters` and doubled slashes dropped, dot segments resolved, a slash at the end
// ignored, letters in lower case. In doubt a path matches. What is encoded twice (`%252D`) is another page and stays one.
package itempattern

import (
	"fmt"
	"strings"

	"github.com/sluicehq/sluice/queue"
)

// Pattern is one --item-pattern: `/product/{item}` takes the item from the path, `/Black-Friday-Sale=bf` names it, and
// `case:` in front makes it heed case. {item} stands for one segment, or for what is left of it beside fixed text
// (`/p-{item}.html`). The zero value matches nothing.
type Pattern struct {
	segments []string // folded; the one that takes the item holds what stands before it
	takes    int      // index of the segment that takes the item; -1 = none
	after    string   // what stands behind {item} in its segment
	names    queue.Item
	heedCase bool
}

const (
	capture    = "{item}"
	casePrefix = "case:"
	mark       = "\x00" // no pattern holds it
)

// Parse reads one pattern. The error is one line that says what is wrong with it.
func Parse(s string) (Pattern, error) {
	p := Pattern{takes: -1}
	path, heed := strings.CutPrefix(s, casePrefix)
	p.heedCase = heed
	bad := func(why string) (Pattern, error) { return Pattern{}, fmt.Errorf("item pattern %q: %s", s, why) }

	if strings.Count(path, capture) > 1 {
		return bad("{item} stands in it more than once")
	}
	before, after, takes := strings.Cut(path, capture)
	if !takes {
		i := strings.LastIndexByte(path, '=')
		if i < 0 {
			return bad("it needs {item} in the path, or =item at the end")
		}
		item, err := queue.ParseItem(path[i+1:])
		if err != nil {
			return bad("what stands behind = is no item id: 1 to 128 characters of A-Z a-z 0-9 . _ ~ : @ -")
		}
		before, p.names = path[:i], item
	}
	switch {
	case !strings.HasPrefix(path, "/"):
		return bad("it must begin with / (or case:/)")
	case strings.ContainsAny(path, "?#"):
		return bad("a query or a fragment is never compared")
	case strings.Contains(decode(path), mark):
		return bad("a NUL has no place in it")
	}
	if !takes {
		p.segments = segments(p.fold(before))
		return p, nil
	}
	// A mark that folding leaves alone stands in for {item}, so that both sides of it are folded as one path.
	for i, segment := range segments(p.fold(before + mark + after)) {
		head, tail, found := strings.Cut(segment, mark)
		if found {
			p.takes, p.after = i, tail
		}
		p.segments = append(p.segments, head)
	}
	if p.takes < 0 {
		return bad("{item} must stand in a segment of the path that counts")
	}
	return p, nil
}

// fold brings a path into the form in which it is compared.
func (p Pattern) fold(path string) string {
	path = clean(path)
	if !p.heedCase {
		path = lower(path)
	}
	return path
}

// match gives the item of a folded path.
func (p Pattern) match(folded string) (queue.Item, bool) {
	if p.takes < 0 && p.names == "" {
		return "", false
	}
	item := p.names
	rest := folded
	for i, want := range p.segments {
		var segment string
		if segment, rest = next(rest); segment == "" {
			return "", false
		}
		if i != p.takes {
			if segment != want {
				return "", false
			}
			continue
		}
		if len(segment) <= len(want)+len(p.after) || !strings.HasPrefix(segment, want) || !strings.HasSuffix(segment, p.after) {
			return "", false
		}
		item = Encode(segment[len(want) : len(segment)-len(p.after)])
	}
	return item, rest == ""
}

// Patterns are tried in their order; the first that matches gives the item.
type Patterns []Pattern

// ParseAll reads patterns in order; the error names the first that is wrong.
func ParseAll(texts []string) (Patterns, error) {
	var ps Patterns
	for _, s := range texts {
		p, err := Parse(s)
		if err != nil {
			return nil, err
		}
		ps = append(ps, p)
	}
	return ps, nil
}

// Item gives the item of a request target: a path, with or without a query, or a whole http address. False where no
// pattern matches. A path that holds a NUL is compared up to it, because some servers stop reading there, and whole.
func (ps Patterns) Item(uri string) (queue.Item, bool) {
	if len(ps) == 0 {
		return "", false
	}
	exact := clean(target(uri))
	folded := lower(exact)
	for _, p := range ps {
		path := folded
		if p.heedCase {
			path = exact
		}
		if head, _, cut := strings.Cut(path, "\x00"); cut {
			if item, ok := p.match(strings.TrimSuffix(head, "/")); ok {
				return item, true
			}
		}
		if item, ok := p.match(path); ok {
			return item, true
		}
	}
	return "", false
}
