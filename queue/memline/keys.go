package memline

const (
	keysKept = 100
	keyLife  = 86_400_000 // ms
)

// keys are the idempotency keys of what was done to an item lately, oldest first.
type keys []usedKey

type usedKey struct {
	key  string
	atMS int64
}

// used reports whether a key is known; "" never is.
func (k keys) used(key string, now instant) bool {
	for _, u := range k {
		if key != "" && u.key == key && now.ms-u.atMS < keyLife {
			return true
		}
	}
	return false
}

func (k *keys) use(key string, now instant) {
	if key == "" {
		return
	}
	*k = append(*k, usedKey{key, now.ms})
	if over := len(*k) - keysKept; over > 0 {
		*k = append(keys(nil), (*k)[over:]...)
	}
}
