package queue

// Policies finds the policy of an item among many. It does not change once made; make a new one on a change.
type Policies struct {
	rules   *Patterns[Rule]
	missing Rule // for items that nothing matches
	version int64
}

// Rule is what is in force for an item. Read only.
type Rule struct {
	Pattern Pattern // the one that the policy was written for
	Policy  Policy
	Limits  Limits // the policy's numbers that a line obeys
}

// NewPolicies makes the finder. The version is that of the settings; it rises with each write. Nodes that know none yet
// send limits of version 1, which any settings replace.
func NewPolicies(version int64, byPattern map[Pattern]Policy) *Policies {
	rule := func(p Pattern, policy Policy) Rule { return Rule{p, policy, policy.Limits(max(1, version))} }
	rules := make(map[Pattern]Rule, len(byPattern))
	for pattern, policy := range byPattern {
		rules[pattern] = rule(pattern, policy)
	}
	return &Policies{rules: NewPatterns(rules), missing: rule("*", DefaultPolicy()), version: version}
}

// Version is that of the settings the policies come from.
func (ps *Policies) Version() int64 { return ps.version }

// Rule gives what is in force for an item: the most specific match, else the default policy under "*".
func (ps *Policies) Rule(item Item) *Rule {
	if r := ps.rules.Find(item); r != nil {
		return r
	}
	return &ps.missing
}

// For gives the policy of Rule and the pattern that it comes from.
func (ps *Policies) For(item Item) (Pattern, Policy) {
	r := ps.Rule(item)
	return r.Pattern, r.Policy
}

// Exact lists the items that have a policy of their own.
func (ps *Policies) Exact() []Item { return ps.rules.Exact() }
