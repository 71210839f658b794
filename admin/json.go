package admin

import (
	"encoding/json"
	"time"
)

func jsonText(v any) string {
	if v == nil {
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// instant is a time in answers: RFC 3339 in UTC with milliseconds, null for the zero time.
type instant time.Time

// text is the instant without quotes.
func (i instant) text() string { return time.Time(i).UTC().Format("2006-01-02T15:04:05.000Z") }

// MarshalJSON writes it.
func (i instant) MarshalJSON() ([]byte, error) {
	if time.Time(i).IsZero() {
		return []byte("null"), nil
	}
	return []byte(`"` + i.text() + `"`), nil
}

// msInstant is that of unix milliseconds; 0 = null.
func msInstant(ms int64) instant {
	if ms == 0 {
		return instant{}
	}
	return instant(time.UnixMilli(ms))
}

// orNil gives nil for the zero value, which JSON writes as null.
func orNil[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
