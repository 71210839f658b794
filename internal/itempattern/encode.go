package itempattern

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/sluicehq/sluice/queue"
)

const (
	longest  = 128
	kept     = 95 // with "~" and the digits of the sum: 128
	sumBytes = 16
)

// Encode writes any text as an item id: every byte outside the item alphabet, and `~`, as `~XX` (upper-case hex). What
// is over 128 characters then is cut to its first 95, `~`, and the first 32 hex digits of the SHA-256 of the whole
// written form. Two texts never share an id but by a collision of the sum. The empty text gives the empty id.
func Encode(text string) queue.Item {
	n := len(text)
	for i := range len(text) {
		if !safe(text[i]) {
			n += 2
		}
	}
	if n == len(text) && n <= longest {
		return queue.Item(text)
	}
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(n)
	for i := range len(text) {
		if c := text[i]; safe(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('~')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
	written := b.String()
	if n <= longest {
		return queue.Item(written)
	}
	sum := sha256.Sum256([]byte(written))
	return queue.Item(written[:kept] + "~" + hex.EncodeToString(sum[:sumBytes]))
}

// safe reports whether a byte of the text stands for itself: the item alphabet without `~`.
func safe(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	case c == '.', c == '_', c == ':', c == '@', c == '-':
		return true
	}
	return false
}
