package page

import "strconv"

// hash is FNV-1a over texts, the same on every node.
type hash uint64

func newHash() hash { return 14695981039346656037 }

// add takes in a text and its end.
func (h *hash) add(s string) {
	for i := range len(s) {
		*h = (*h ^ hash(s[i])) * 1099511628211
	}
	*h = (*h ^ 0xff) * 1099511628211 // which no UTF-8 text has
}

func (h hash) String() string { return strconv.FormatUint(uint64(h), 36) }
