package queue

import "slices"

// Policies finds the policy of an item among many. It does not change once made; make a new one on a change.
type Policies struct {
	exact map[Item]Policy
	// globs are kept by literal prefix, so that a look-up tries the prefixes of the item, longest first, and not every
	// pattern: O(longest prefix + patterns that share one).
	globs   map[string][]rule
	lengths []int // of the prefixes that occur, longest first
	version int64
}

type rule struct {
	pattern Pattern
	policy  Policy
}

// NewPolicies makes the finder. The version is that of the settings; it rises with each write.
func NewPolicies(version int64, byPattern map[Pattern]Policy) *Policies {
	ps := &Policies{exact: map[Item]Policy{}, globs: map[string][]rule{}, version: version}
	seen := map[int]bool{}
	for pattern, policy := range byPattern {
		if pattern.Exact() {
			ps.exact[Item(pattern)] = policy
			continue
		}
		prefix := pattern.prefix()
		ps.globs[prefix] = append(ps.globs[prefix], rule{pattern, policy})
		if !seen[len(prefix)] {
			seen[len(prefix)] = true
			ps.lengths = append(ps.lengths, len(prefix))
		}
	}
	for _, rules := range ps.globs {
		slices.SortFunc(rules, func(a, b rule) int { return a.pattern.Compare(b.pattern) })
	}
	slices.Sort(ps.lengths)
	slices.Reverse(ps.lengths)
	return ps
}

// Version is that of the settings the policies come from.
func (ps *Policies) Version() int64 { return ps.version }

// For gives the policy in force for an item and the pattern that it comes from: the most specific match, else the
// default policy under "*".
func (ps *Policies) For(item Item) (Pattern, Policy) {
	if p, ok := ps.exact[item]; ok {
		return Pattern(item), p
	}
	for _, n := range ps.lengths {
		if n > len(item) {
			continue
		}
		for _, r := range ps.globs[string(item[:n])] {
			if r.pattern.Match(item) {
				return r.pattern, r.policy
			}
		}
	}
	return "*", DefaultPolicy()
}

// Exact lists the items that have a policy of their own.
func (ps *Policies) Exact() []Item {
	items := make([]Item, 0, len(ps.exact))
	for item := range ps.exact {
		items = append(items, item)
	}
	slices.Sort(items)
	return items
}
