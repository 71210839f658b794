package redisline

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// Settled is where nodes note which times of sales have opened or were turned off, for admin nodes that were away
// meanwhile: one sorted set, mark -> instant of the note (ms). The newest 10,000 are kept, for 400 days.
type Settled struct {
	client redis.UniversalClient
	key    string
}

const (
	mostSettled = 10_000
	settledFor  = 400 * 24 * time.Hour
)

// NewSettled returns the notes.
func NewSettled(client redis.UniversalClient, prefix string) *Settled {
	return &Settled{client, prefix + "{+}:settled"}
}

// Note notes a time of a sale by its mark. Repeating it is harmless.
func (s *Settled) Note(ctx context.Context, mark string, nowMS int64) error {
	pipe := s.client.Pipeline()
	pipe.ZAdd(ctx, s.key, redis.Z{Score: float64(nowMS), Member: mark})
	pipe.ZRemRangeByRank(ctx, s.key, 0, -mostSettled-1)
	pipe.PExpire(ctx, s.key, settledFor)
	_, err := pipe.Exec(ctx)
	return Fault(err)
}

// Among tells which of some marks have been noted.
func (s *Settled) Among(ctx context.Context, marks []string) ([]bool, error) {
	noted := make([]bool, len(marks))
	if len(marks) == 0 {
		return noted, nil
	}
	scores, err := s.client.ZMScore(ctx, s.key, marks...).Result()
	if err != nil {
		return nil, Fault(err)
	}
	for i := range scores {
		noted[i] = scores[i] > 0
	}
	return noted, nil
}
