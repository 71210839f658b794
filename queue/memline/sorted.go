package memline

import (
	"iter"
	"slices"
	"sort"
	"strings"

	"github.com/sluicehq/sluice/queue"
)

// entry is one member of a sorted set; entries go by score, equal scores by visitor, as in a sorted set of the store.
type entry struct {
	score   int64
	visitor queue.Visitor
}

func (e entry) compare(o entry) int {
	switch {
	case e.score < o.score:
		return -1
	case e.score > o.score:
		return 1
	}
	return strings.Compare(string(e.visitor), string(o.visitor))
}

// blockSize is how many entries a block holds at most. 512 was the best of the sizes tried at 1,000 to 1,000,000.
const blockSize = 512

// sorted is a sorted set that knows ranks: blocks of entries in order, and a Fenwick tree over their sizes. Insert,
// remove and rank are O(log n) and one short move of memory; the zero value is empty. It does not look for doubles:
// whoever owns it knows the score of each member.
type sorted struct {
	blocks [][]entry // none is empty
	tree   []int     // Fenwick tree over the sizes, 1-based: tree[i] = sum of the sizes of the (i & -i) blocks up to i
	size   int
}

// Len is the number of entries.
func (s *sorted) Len() int { return s.size }

// Insert adds an entry that is not there yet.
func (s *sorted) Insert(e entry) {
	s.size++
	if len(s.blocks) == 0 {
		s.blocks = append(s.blocks, newBlock(e))
		s.sum()
		return
	}
	b := s.block(e)
	if len(s.blocks[b]) == blockSize {
		if b == len(s.blocks)-1 && s.blocks[b][blockSize-1].compare(e) < 0 {
			s.append(newBlock(e)) // arrivals come in order: leave full blocks behind, not halves
			return
		}
		s.split(b)
		b = s.block(e)
	}
	at, _ := slices.BinarySearchFunc(s.blocks[b], e, entry.compare)
	s.blocks[b] = slices.Insert(s.blocks[b], at, e)
	s.add(b, 1)
}

// Remove takes out an entry; it reports whether it was there.
func (s *sorted) Remove(e entry) bool {
	if s.size == 0 {
		return false
	}
	b := s.block(e)
	at, found := slices.BinarySearchFunc(s.blocks[b], e, entry.compare)
	if !found {
		return false
	}
	s.size--
	switch {
	case len(s.blocks[b]) == 1:
		s.blocks = slices.Delete(s.blocks, b, b+1)
		s.sum()
		return true
	case at == 0:
		s.blocks[b][0].visitor = "" // the head goes: no need to move the others
		s.blocks[b] = s.blocks[b][1:]
	default:
		s.blocks[b] = slices.Delete(s.blocks[b], at, at+1)
	}
	s.add(b, -1)
	return true
}

// First gives the lowest entry.
func (s *sorted) First() (entry, bool) {
	if s.size == 0 {
		return entry{}, false
	}
	return s.blocks[0][0], true
}

// Rank is how many entries are below e.
func (s *sorted) Rank(e entry) int {
	if s.size == 0 {
		return 0
	}
	b := s.block(e)
	at, _ := slices.BinarySearchFunc(s.blocks[b], e, entry.compare)
	for i := b; i > 0; i -= i & -i {
		at += s.tree[i]
	}
	return at
}

// At gives the entry of a rank, 0 <= rank < Len.
func (s *sorted) At(rank int) entry {
	b := 0
	step := 1
	for step*2 < len(s.tree) {
		step *= 2
	}
	for ; step > 0; step /= 2 {
		if b+step < len(s.tree) && s.tree[b+step] <= rank {
			b += step
			rank -= s.tree[b]
		}
	}
	return s.blocks[b][rank]
}

// From goes through the entries above e, in order. The set must not change meanwhile.
func (s *sorted) From(e entry) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		if s.size == 0 {
			return
		}
		first := s.block(e)
		for b := first; b < len(s.blocks); b++ {
			at := 0
			if b == first {
				var found bool
				if at, found = slices.BinarySearchFunc(s.blocks[b], e, entry.compare); found {
					at++
				}
			}
			for _, x := range s.blocks[b][at:] {
				if !yield(x) {
					return
				}
			}
		}
	}
}

// block finds the block in which e is or belongs.
func (s *sorted) block(e entry) int {
	if last := len(s.blocks) - 1; s.blocks[last][0].compare(e) <= 0 {
		return last
	}
	return max(0, sort.Search(len(s.blocks), func(i int) bool { return s.blocks[i][0].compare(e) > 0 })-1)
}

// split makes two halves of a full block.
func (s *sorted) split(b int) {
	full := s.blocks[b]
	upper := append(make([]entry, 0, blockSize), full[blockSize/2:]...)
	clear(full[blockSize/2:])
	s.blocks[b] = full[:blockSize/2]
	s.blocks = slices.Insert(s.blocks, b+1, upper)
	s.sum()
}

// append puts a block at the end; the tree grows by one node.
func (s *sorted) append(block []entry) {
	s.blocks = append(s.blocks, block)
	n := len(s.blocks)
	sum := len(block)
	for j := n - 1; j > n-n&-n; j -= j & -j {
		sum += s.tree[j]
	}
	s.tree = append(s.tree, sum)
}

// sum makes the tree anew, in O(blocks).
func (s *sorted) sum() {
	s.tree = append(s.tree[:0], make([]int, len(s.blocks)+1)...)
	for i, b := range s.blocks {
		i++
		s.tree[i] += len(b)
		if up := i + i&-i; up < len(s.tree) {
			s.tree[up] += s.tree[i]
		}
	}
}

// add changes the size of one block in the tree.
func (s *sorted) add(b, by int) {
	for i := b + 1; i < len(s.tree); i += i & -i {
		s.tree[i] += by
	}
}

// newBlock starts small: most lines are short.
func newBlock(e entry) []entry { return append(make([]entry, 0, 8), e) }
