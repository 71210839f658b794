package redisline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/queue"
)

var announceScript = redis.NewScript(source("announce"))

// Changes is what all nodes tell each other: one stream in the store, and the list of queues that a node reads when it
// starts or has missed a part of the stream.
type Changes struct {
	client redis.UniversalClient
	queues string
	stream string
}

// Change is one notice of the stream; one of its parts is set.
type Change struct {
	Queue    *queue.Header // an item's queue has another header
	Ended    *Ended        // a visitor's passes have ended
	Settings bool          // new settings are published
}

// Ended says that a visitor's passes for an item, issued up to an instant, have ended.
type Ended struct {
	Item    queue.Item    `json:"item"`
	Visitor queue.Visitor `json:"visitor"`
	AtMS    int64         `json:"at_ms"`
}

// NewChanges returns the changes in a Redis.
func NewChanges(client redis.UniversalClient, prefix string) *Changes {
	// "+" is no character of an item id, so this slot's keys are no item's.
	return &Changes{client: client, queues: prefix + "{+}:queues", stream: prefix + "{+}:changes"}
}

// Announce tells all nodes of a header. An older one than the last told is not told.
func (c *Changes) Announce(ctx context.Context, h queue.Header) error {
	b, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("announce %s: %w", h.Item, err)
	}
	return Fault(announceScript.Run(ctx, c.client, []string{c.queues, c.stream}, string(h.Item), h.Version, b).Err())
}

// TellEnded tells all nodes that a visitor's passes have ended.
func (c *Changes) TellEnded(ctx context.Context, e Ended) error {
	b, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("tell end at %s: %w", e.Item, err)
	}
	return c.add(ctx, "ended", string(b))
}

// TellSettings tells all nodes to load the published settings.
func (c *Changes) TellSettings(ctx context.Context) error { return c.add(ctx, "settings", "1") }

func (c *Changes) add(ctx context.Context, kind, value string) error {
	return Fault(c.client.XAdd(ctx, &redis.XAddArgs{
		Stream: c.stream, MaxLen: 10_000, Approx: true, Values: []string{kind, value},
	}).Err())
}

// Queues lists the headers of all queues that are on, or were until lately.
func (c *Changes) Queues(ctx context.Context) ([]queue.Header, error) {
	all, err := c.client.HGetAll(ctx, c.queues).Result()
	if err != nil {
		return nil, Fault(err)
	}
	headers := make([]queue.Header, 0, len(all))
	for item, text := range all {
		_, body, _ := strings.Cut(text, " ")
		var h queue.Header
		if err := json.Unmarshal([]byte(body), &h); err != nil {
			return nil, fmt.Errorf("list of queues: item %s: %w", item, err)
		}
		headers = append(headers, h)
	}
	return headers, nil
}

// Forget takes an item whose queue is gone off the list.
func (c *Changes) Forget(ctx context.Context, item queue.Item) error {
	return Fault(c.client.HDel(ctx, c.queues, string(item)).Err())
}

// Tail is the id of the newest change, from which Next goes on.
func (c *Changes) Tail(ctx context.Context) (string, error) {
	last, err := c.client.XRevRangeN(ctx, c.stream, "+", "-", 1).Result()
	if err != nil {
		return "", Fault(err)
	}
	if len(last) == 0 {
		return "0-0", nil
	}
	return last[0].ID, nil
}

// Next waits up to the given time for changes after an id and gives them with the id to go on from.
func (c *Changes) Next(ctx context.Context, after string, wait time.Duration) ([]Change, string, error) {
	got, err := c.client.XRead(ctx, &redis.XReadArgs{Streams: []string{c.stream, after}, Count: 1000, Block: wait}).Result()
	if errors.Is(err, redis.Nil) {
		return nil, after, nil
	}
	if err != nil {
		return nil, after, Fault(err)
	}
	var changes []Change
	for _, m := range got[0].Messages {
		after = m.ID
		if change, ok := readChange(m.Values); ok {
			changes = append(changes, change)
		}
	}
	return changes, after, nil
}

// readChange reads one notice; ok is false for one of a kind that this version does not know.
func readChange(values map[string]any) (Change, bool) {
	var c Change
	if text, ok := values["queue"].(string); ok {
		var h queue.Header
		if json.Unmarshal([]byte(text), &h) == nil {
			c.Queue = &h
		}
	}
	if text, ok := values["ended"].(string); ok {
		var e Ended
		if json.Unmarshal([]byte(text), &e) == nil {
			c.Ended = &e
		}
	}
	_, c.Settings = values["settings"]
	return c, c.Queue != nil || c.Ended != nil || c.Settings
}
