package settings

import "time"

// PassKey is a key that signs passes: its number, from which every node derives it, and when it was made.
type PassKey struct {
	Number    int64 `json:"number"`     // 1 and up; the first needs no entry
	CreatedMS int64 `json:"created_ms"` // unix ms
}

// Connector are customer id and secret of the connector protocol. The zero value is off.
type Connector struct {
	CustomerID string `json:"customer_id"`
	Sealed     string `json:"sealed"` // the secret, sealed with the secret key: the store never holds it in plain
}

const (
	// PublishedFor is how long a new key of passes is published before it signs, so that every verifier has fetched it.
	PublishedFor = 10 * time.Minute
	// heldFor is how long a key verifies after another signs in its place: longer than any pass holds.
	heldFor = 24*time.Hour + time.Minute
)

// KeyTimes are a pass key's number and its instants.
type KeyTimes struct {
	Number    int64
	CreatedAt time.Time // zero for the first key
	SignsFrom time.Time // zero for the first key
	EndsAt    time.Time // when it verifies no more; zero = not known yet
}

// PassKeys gives the keys of passes at an instant, by number: those that sign, will sign or still verify.
func (s *Settings) PassKeys(now time.Time) []KeyTimes {
	all := []KeyTimes{{Number: 1}}
	for _, k := range s.data.PassKeys {
		made := time.UnixMilli(k.CreatedMS).UTC()
		signs := made.Add(PublishedFor)
		all[len(all)-1].EndsAt = signs.Add(heldFor)
		all = append(all, KeyTimes{Number: k.Number, CreatedAt: made, SignsFrom: signs})
	}
	var hold []KeyTimes
	for _, k := range all {
		if k.EndsAt.IsZero() || now.Before(k.EndsAt) {
			hold = append(hold, k)
		}
	}
	return hold
}

// SigningOrder gives the numbers of keys with the one that signs now in front.
func SigningOrder(keys []KeyTimes, now time.Time) []int64 {
	signing := 0
	for i, k := range keys {
		if !now.Before(k.SignsFrom) {
			signing = i
		}
	}
	numbers := []int64{keys[signing].Number}
	for i, k := range keys {
		if i != signing {
			numbers = append(numbers, k.Number)
		}
	}
	return numbers
}

// Connector gives customer id and sealed secret of the connector protocol; off where the customer id is "".
func (s *Settings) Connector() Connector { return s.data.Connector }
