package scheduler

import (
	"hash/fnv"
	"slices"
	"sync/atomic"

	"github.com/sluicehq/sluice/queue"
)

// Share says which items this node steps: each belongs to one of the living nodes, and a change of the nodes moves only
// the items that it must (rendezvous hashing, Thaler and Ravishankar 1998). Two nodes that see the living differently
// may both step an item, which is harmless: steps are atomic.
type Share struct {
	node   string
	living atomic.Pointer[[]string]
}

// NewShare returns the share of a node that knows of no other: all items.
func NewShare(node string) *Share {
	s := &Share{node: node}
	s.living.Store(&[]string{node})
	return s
}

// Set takes over who lives, and reports whether that is a change. The node itself counts as living.
func (s *Share) Set(living []string) bool {
	all := slices.Clone(living)
	if !slices.Contains(all, s.node) {
		all = append(all, s.node)
	}
	slices.Sort(all)
	if slices.Equal(all, *s.living.Load()) {
		return false
	}
	s.living.Store(&all)
	return true
}

// Nodes is how many nodes live.
func (s *Share) Nodes() int { return len(*s.living.Load()) }

// Mine reports whether this node steps the item. O(living nodes).
func (s *Share) Mine(item queue.Item) bool {
	var best uint64
	var owner string
	for _, node := range *s.living.Load() {
		h := fnv.New64a()
		h.Write([]byte(node))
		h.Write([]byte{0})
		h.Write([]byte(item))
		if w := mix(h.Sum64()); owner == "" || w > best {
			best, owner = w, node
		}
	}
	return owner == s.node
}

// mix spreads a hash whose high bits depend too little on the last bytes (the finalizer of splitmix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
