package queue

import (
	"crypto/rand"
	"encoding/base64"
)

// Item names the thing that is protected: a product, an event, a page. 1 to 128 characters of
// A-Z a-z 0-9 . _ ~ : @ -.
type Item string

// maxItem is the longest item id in characters.
const maxItem = 128

// ParseItem checks an item id as it stands after percent-decoding; ErrInvalidItem where it is none.
func ParseItem(s string) (Item, error) {
	if s == "" || len(s) > maxItem {
		return "", ErrInvalidItem
	}
	for i := range len(s) {
		if !itemByte(s[i]) {
			return "", ErrInvalidItem
		}
	}
	return Item(s), nil
}

func itemByte(b byte) bool {
	switch {
	case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
		return true
	case b == '.', b == '_', b == '~', b == ':', b == '@', b == '-':
		return true
	}
	return false
}

// Visitor is one person or client: the member in the three sets. 16 to 22 characters of the URL-safe base64 alphabet.
type Visitor string

// visitorBytes is what a new visitor id holds: 96 random bits, 16 characters, which costs the store no more memory
// than it must (an allocation of 32 bytes a member).
const visitorBytes = 12

// NewVisitor makes a visitor id nobody has had before.
func NewVisitor() Visitor {
	var b [visitorBytes]byte
	rand.Read(b[:])
	return VisitorOf(b[:])
}

// VisitorOf makes a visitor id of at least 12 bytes, of which it takes the first 12: random ones, or a keyed hash of a
// server's user id.
func VisitorOf(b []byte) Visitor {
	return Visitor(base64.RawURLEncoding.EncodeToString(b[:visitorBytes]))
}

// ParseVisitor checks a visitor id; ErrInvalidVisitor where it is none.
func ParseVisitor(s string) (Visitor, error) {
	if len(s) < 16 || len(s) > 22 {
		return "", ErrInvalidVisitor
	}
	for i := range len(s) {
		b := s[i]
		if b == '.' || b == '~' || b == ':' || b == '@' || !itemByte(b) {
			return "", ErrInvalidVisitor
		}
	}
	return Visitor(s), nil
}

// Short is the form of a visitor id that may stand in logs: enough to follow one visitor, too little to be one.
func (v Visitor) Short() string {
	if len(v) <= 6 {
		return string(v)
	}
	return string(v[:6]) + "…"
}

// refLength is that of a reference: with 48 bits, two people of a line of a million share one in less than one line in 500,
// and a given one of them with anybody else in one of 280,000,000.
const refLength = 8

// Ref is the short reference that a waiting page shows, by which operators find the visitor in one line: the beginning of
// the id, which proves nothing.
func (v Visitor) Ref() string { return string(v[:min(refLength, len(v))]) }

// ValidRef reports whether a text can be a reference.
func ValidRef(s string) bool {
	if len(s) != refLength {
		return false
	}
	_, err := ParseVisitor(s + s)
	return err == nil
}

// Generation numbers the activations of one item's queue: it rises with each and is never used again. 0 is "there was
// none". A new one is max(last + 1, unix seconds), so that a store that has forgotten the last one cannot repeat it.
type Generation int64
