package webhook

import (
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Lasts is how long a message is tried before it is a dead letter.
const Lasts = 24 * time.Hour

// The pace of the tries: 5 s after the first, then three times as long each time up to 4 h, each a fifth more or less.
// That makes 13 or 14 tries in a day.
const (
	firstWait = 5 * time.Second
	growth    = 3
	mostWait  = 4 * time.Hour
	jitter    = 0.2
)

// Wait is how long to wait after so many tries, at least one.
func Wait(tries int) time.Duration {
	b := backoff.ExponentialBackOff{InitialInterval: firstWait, RandomizationFactor: jitter, Multiplier: growth, MaxInterval: mostWait}
	b.Reset()
	wait := b.NextBackOff()
	for range min(tries, 20) - 1 {
		wait = b.NextBackOff()
	}
	return wait
}
