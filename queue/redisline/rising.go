package redisline

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/queue"
)

// Rising is where nodes tell each other of items whose traffic comes near a trigger, for operators to see: one hash for
// all, a field for each node that has some.
type Rising struct {
	client redis.UniversalClient
	key    string
	node   string
}

// risingFor is how long what a node told holds.
const risingFor = 5 * time.Second

// told is the field of one node.
type told struct {
	AtMS  int64        `json:"at_ms"` // the store's clock
	Items []queue.Item `json:"items"`
}

// NewRising returns the list as one node sees it.
func NewRising(client redis.UniversalClient, prefix, node string) *Rising {
	return &Rising{client: client, key: prefix + "{+}:rising", node: node}
}

// Tell says what this node knows, at an instant of the store's clock. It is forgotten after five seconds.
func (r *Rising) Tell(ctx context.Context, items []queue.Item, nowMS int64) error {
	field, err := json.Marshal(told{nowMS, items})
	if err != nil {
		return fmt.Errorf("tell of rising traffic: %w", err)
	}
	pipe := r.client.Pipeline()
	pipe.HSet(ctx, r.key, r.node, field)
	pipe.PExpire(ctx, r.key, 2*risingFor)
	_, err = pipe.Exec(ctx)
	return Fault(err)
}

// All gives what all nodes told of late, in no order; an item may come more than once.
func (r *Rising) All(ctx context.Context, nowMS int64) ([]queue.Item, error) {
	fields, err := r.client.HGetAll(ctx, r.key).Result()
	if err != nil {
		return nil, Fault(err)
	}
	var items []queue.Item
	for node, field := range fields {
		var t told
		if err := json.Unmarshal([]byte(field), &t); err != nil {
			return items, fmt.Errorf("rising traffic of node %s: %w", node, err)
		}
		if nowMS-t.AtMS <= risingFor.Milliseconds() {
			items = append(items, t.Items...)
		}
	}
	return items, nil
}
