package ticket

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// MinSecret is the least length of a secret key in bytes.
const MinSecret = 32

const (
	maxSecret  = 1024 // bytes of one
	maxSecrets = 16   // keys in a list
)

// Secrets are the secret keys of --secret-key: the first signs, all verify. They never show in print or JSON.
type Secrets struct{ keys [][]byte }

// ParseSecret reads one or more secret keys, comma-separated, each at least 32 bytes in base64 (standard or URL-safe,
// padded or not). Errors name the key by its number and never show any of it.
func ParseSecret(s string) (Secrets, error) {
	if strings.TrimSpace(s) == "" {
		return Secrets{}, errors.New("secret key: it is empty")
	}
	parts := strings.Split(s, ",")
	if len(parts) > maxSecrets {
		return Secrets{}, fmt.Errorf("secret key: %d keys, at most %d can be given", len(parts), maxSecrets)
	}
	var out Secrets
	for i, part := range parts {
		subject := "secret key"
		if len(parts) > 1 {
			subject = fmt.Sprintf("secret key %d of %d", i+1, len(parts))
		}
		key, ok := decodeSecret(strings.TrimSpace(part))
		switch {
		case !ok:
			return Secrets{}, fmt.Errorf("%s: not base64", subject)
		case len(key) < MinSecret:
			return Secrets{}, fmt.Errorf("%s: %d bytes, at least %d are needed", subject, len(key), MinSecret)
		case len(key) > maxSecret:
			return Secrets{}, fmt.Errorf("%s: %d bytes, at most %d can be given", subject, len(key), maxSecret)
		}
		for j, other := range out.keys {
			if string(other) == string(key) {
				return Secrets{}, fmt.Errorf("%s: the same as key %d", subject, j+1)
			}
		}
		out.keys = append(out.keys, key)
	}
	return out, nil
}

func decodeSecret(s string) ([]byte, bool) {
	s = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	b, err := base64.RawStdEncoding.DecodeString(s)
	return b, err == nil
}

// Format keeps the keys out of logs, whatever the verb.
func (s Secrets) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "%d secret keys", len(s.keys)) }
