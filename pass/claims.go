package pass

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Claims is what a pass says.
type Claims struct {
	Issuer     string    // iss: the public URL of the service that signed it
	Item       string    // aud
	Visitor    string    // sub
	ID         string    // jti: the same for the same item, visitor, generation and instant of issue
	IssuedAt   time.Time // iat, whole seconds
	ExpiresAt  time.Time // exp, whole seconds
	Generation int64     // gen: of the queue that let the visitor in
}

// claimsJSON gives the names and the order of the claims in a pass.
type claimsJSON struct {
	Issuer     string `json:"iss"`
	Item       string `json:"aud"`
	Visitor    string `json:"sub"`
	ID         string `json:"jti"`
	IssuedAt   int64  `json:"iat"`
	ExpiresAt  int64  `json:"exp"`
	Generation int64  `json:"gen"`
}

func (c Claims) marshal() []byte {
	return claimsJSON{c.Issuer, c.Item, c.Visitor, c.ID, c.IssuedAt.Unix(), c.ExpiresAt.Unix(), c.Generation}.marshal()
}

func (j claimsJSON) marshal() []byte {
	b, err := json.Marshal(j)
	if err != nil {
		panic(err) // strings and integers always marshal
	}
	return b
}

// lastSecond is the end of the year 9999, the last that RFC 3339 can write.
const lastSecond = 253402300799

// parseClaims reads one JSON object with all the claims of a pass. Further claims may be there, no name may be twice:
// parsers differ in which of two they take.
func parseClaims(b []byte) (Claims, error) {
	// What Sign writes comes back to the letter: that is quick to see, and leaves nothing to check but the ranges.
	var j claimsJSON
	if json.Unmarshal(b, &j) == nil && bytes.Equal(j.marshal(), b) &&
		0 <= j.IssuedAt && j.IssuedAt <= lastSecond && 0 <= j.ExpiresAt && j.ExpiresAt <= lastSecond && j.Generation >= 0 {
		return Claims{
			j.Issuer, j.Item, j.Visitor, j.ID,
			time.Unix(j.IssuedAt, 0).UTC(), time.Unix(j.ExpiresAt, 0).UTC(), j.Generation,
		}, nil
	}
	return parseAnyClaims(b)
}

// parseAnyClaims reads claims in any order and with others among them, as a later version may write them.
func parseAnyClaims(b []byte) (Claims, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return Claims{}, errNoObject
	}
	var c Claims
	seen := make(map[string]bool, 8)
	for dec.More() {
		t, err := dec.Token()
		name, ok := t.(string)
		if err != nil || !ok || seen[name] {
			return Claims{}, fmt.Errorf("%w: a name that is none, or comes twice", ErrMalformed)
		}
		seen[name] = true
		switch name {
		case "iss":
			err = text(dec, &c.Issuer)
		case "aud":
			err = text(dec, &c.Item)
		case "sub":
			err = text(dec, &c.Visitor)
		case "jti":
			err = text(dec, &c.ID)
		case "iat":
			err = instant(dec, &c.IssuedAt)
		case "exp":
			err = instant(dec, &c.ExpiresAt)
		case "gen":
			c.Generation, err = integer(dec)
		default:
			var skipped json.RawMessage
			err = dec.Decode(&skipped)
		}
		if err != nil {
			return Claims{}, fmt.Errorf("%w: claim %s", ErrMalformed, strconv.Quote(name))
		}
	}
	if _, err := dec.Token(); err != nil {
		return Claims{}, errNoObject
	}
	if _, err := dec.Token(); err != io.EOF {
		return Claims{}, errNoObject
	}
	for _, name := range [...]string{"iss", "aud", "sub", "jti", "iat", "exp", "gen"} {
		if !seen[name] {
			return Claims{}, fmt.Errorf("%w: claim %s is missing", ErrMalformed, name)
		}
	}
	return c, nil
}

var errNoObject = fmt.Errorf("%w: the claims are no JSON object", ErrMalformed)

func text(dec *json.Decoder, to *string) error {
	t, err := dec.Token()
	s, ok := t.(string)
	if err != nil || !ok {
		return ErrMalformed
	}
	*to = s
	return nil
}

func integer(dec *json.Decoder) (int64, error) {
	t, err := dec.Token()
	n, ok := t.(json.Number)
	if err != nil || !ok {
		return 0, ErrMalformed
	}
	i, err := strconv.ParseInt(string(n), 10, 64)
	if err != nil || i < 0 {
		return 0, ErrMalformed
	}
	return i, nil
}

func instant(dec *json.Decoder, to *time.Time) error {
	s, err := integer(dec)
	if err != nil || s > lastSecond {
		return ErrMalformed
	}
	*to = time.Unix(s, 0).UTC()
	return nil
}
