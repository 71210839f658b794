package queue

import "slices"

// globs finds the most specific of many patterns with stars that match an item. Each pattern is filed under three
// characters that stand in it, of all such the ones that fewest patterns have; a look-up takes what is filed under each
// three characters of the item, and so tries a few patterns of ten thousand, wherever their stars are.
type globs[V any] struct {
	byGram  map[gram][]*glob[V] // each list the most specific first
	lengths [4]bool             // of the grams that occur
	all     *glob[V]            // the most specific of those that match everything: stars alone
}

type glob[V any] struct {
	pattern  Pattern
	value    *V
	literals []string // what stands between the stars
	order    int      // 0 = the most specific of all
}

// gram is up to three characters of a pattern; fewer where no literal part of it is that long.
type gram uint32

const gramLength = 3

func gramOf(s string) (g gram) {
	for i := range len(s) {
		g = g<<8 | gram(s[i])
	}
	return g
}

func indexGlobs[V any](list []*glob[V]) globs[V] {
	slices.SortFunc(list, func(a, b *glob[V]) int { return a.pattern.Compare(b.pattern) })
	having := map[gram]int{}
	for i, g := range list {
		g.order = i
		for _, s := range g.grams() {
			having[gramOf(s)]++
		}
	}
	gs := globs[V]{byGram: map[gram][]*glob[V]{}}
	for _, g := range list {
		grams := g.grams()
		if len(grams) == 0 {
			if gs.all == nil {
				gs.all = g
			}
			continue
		}
		rarest := slices.MinFunc(grams, func(a, b string) int { return having[gramOf(a)] - having[gramOf(b)] })
		gs.byGram[gramOf(rarest)] = append(gs.byGram[gramOf(rarest)], g)
		gs.lengths[len(rarest)] = true
	}
	return gs
}

// grams gives the grams that a pattern may be filed under, all of one length; none where it has stars alone.
func (g *glob[V]) grams() (out []string) {
	n := 0
	for _, s := range g.literals {
		n = max(n, min(len(s), gramLength))
	}
	if n == 0 {
		return nil
	}
	for _, s := range g.literals {
		for i := 0; i+n <= len(s); i++ {
			out = append(out, s[i:i+n])
		}
	}
	return out
}

// find gives the value of the most specific pattern that matches; nil where none does. It allocates nothing.
func (gs *globs[V]) find(item string) *V {
	best := gs.all
	for n := 1; n <= gramLength; n++ {
		if !gs.lengths[n] {
			continue
		}
		for i := 0; i+n <= len(item); i++ {
			for _, g := range gs.byGram[gramOf(item[i:i+n])] {
				if best != nil && g.order >= best.order {
					break
				}
				if matches(g.literals, item) {
					best = g
					break
				}
			}
		}
	}
	if best == nil {
		return nil
	}
	return best.value
}
