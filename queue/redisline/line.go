package redisline

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/queue"
)

// Line is the lines of all items in one Redis. It is safe for use by many goroutines.
type Line struct {
	client redis.UniversalClient
	prefix string
	clock  clock.Clock
	away   func(key string) bool

	minReplicas  int
	unreplicated atomic.Int64
}

// Options configures a Line. Client is required.
type Options struct {
	Client redis.UniversalClient
	Prefix string      // of every key, such as "sluice:"
	Clock  clock.Clock // nil = the store's own clock; else a virtual one
	// Away reports whether the server that keeps a key is known to be down, so that what needs it fails at once; nil = none
	// ever is.
	Away func(key string) bool

	// MinReplicas is how many replicas must have a join or an admission before it is answered, see Unreplicated.
	MinReplicas int
}

// New returns the lines in a Redis.
func New(o Options) *Line {
	if o.Away == nil {
		o.Away = func(string) bool { return false }
	}
	return &Line{client: o.Client, prefix: o.Prefix, clock: o.Clock, away: o.Away, minReplicas: o.MinReplicas}
}

// Now is the virtual time for a script in µs, "" for the store's own. Scripts beside the line's go by it too.
func (l *Line) Now() string {
	if l.clock == nil {
		return ""
	}
	return strconv.FormatInt(l.clock.Now().UnixMicro(), 10)
}

// pack is the limits as the scripts take them: JSON and version.
func pack(limits queue.Limits) (string, int64) {
	if limits.Version == 0 {
		return "", 0
	}
	b, err := json.Marshal(limits)
	if err != nil {
		return "", 0 // numbers and booleans alone: cannot fail but for NaN, which Policy.Validate refuses
	}
	return string(b), limits.Version
}

// epoch is a random one, a whole number that a script can hold exactly.
func epoch() int64 { return rand.Int64N(1<<52) + 1 }
