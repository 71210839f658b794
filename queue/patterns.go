package queue

import (
	"maps"
	"slices"
)

// Patterns finds what was written for the most specific of many patterns that match an item. It does not change once
// made.
type Patterns[V any] struct {
	exact map[Item]*V
	globs globs[V]
}

// NewPatterns makes the finder.
func NewPatterns[V any](byPattern map[Pattern]V) *Patterns[V] {
	ps := &Patterns[V]{exact: map[Item]*V{}}
	var globs []*glob[V]
	for pattern, v := range byPattern {
		if pattern.Exact() {
			ps.exact[Item(pattern)] = &v
		} else {
			globs = append(globs, &glob[V]{pattern: pattern, value: &v, literals: pattern.literals()})
		}
	}
	ps.globs = indexGlobs(globs)
	return ps
}

// Find gives what was written for the most specific pattern that matches; nil where none does. It allocates nothing.
func (ps *Patterns[V]) Find(item Item) *V {
	if v, ok := ps.exact[item]; ok {
		return v
	}
	return ps.globs.find(string(item))
}

// Exact lists the items that have something of their own.
func (ps *Patterns[V]) Exact() []Item { return slices.Sorted(maps.Keys(ps.exact)) }
