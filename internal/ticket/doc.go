// Package ticket makes and opens what visitors carry besides the pass: the visitor token, the ticket of a place, and
// the jar, the one cookie that holds both for many items.
//
// All three are sealed alike: version byte, tag, ciphertext, in base64url. The tag is HMAC-SHA-256, cut to 16 bytes,
// over version, item and plaintext; the ciphertext is AES-256 in counter mode that starts at the tag (the SIV
// construction of RFC 5297 with HMAC as its PRF). So a token says nothing to who holds it, not even the lot before a
// draw; the same content always gives the same token; and none can be changed, or shown at another item.
//
// Keys derive from the secret keys by HKDF, one for each purpose. The first secret seals, all open.
package ticket
