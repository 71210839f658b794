package redisline

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/queue"
)

// replicaPatience is how long a join or an admission waits for the replicas. After it the visitor is answered all the same:
// the ticket and the pass say by their signatures what a replica may lack.
const replicaPatience = 100 * time.Millisecond

// replicated waits until as many replicas as are asked for have all that the store has written so far for these items, or for
// replicaPatience, and counts where they have not. One round trip for each master, none where no replicas are asked for.
// A small key is written first, as Redis promises to wait for writes of the same connection alone
// (https://redis.io/docs/latest/commands/wait/), and the script may have run over another.
func (l *Line) replicated(ctx context.Context, items ...queue.Item) {
	if l.minReplicas == 0 || len(items) == 0 {
		return
	}
	for client, item := range l.masters(ctx, items) {
		pipe := client.Pipeline()
		key := l.replicatedKey(item)
		pipe.Set(ctx, key, "", time.Second)
		wait := pipe.Do(ctx, "WAIT", l.minReplicas, replicaPatience.Milliseconds())
		if _, err := pipe.Exec(ctx); err != nil {
			l.unreplicated.Add(1)
		} else if n, err := wait.Int(); err != nil || n < l.minReplicas {
			l.unreplicated.Add(1)
		}
	}
}

// masters gives the masters that hold the items, each with one of its items.
func (l *Line) masters(ctx context.Context, items []queue.Item) map[*redis.Client]queue.Item {
	switch client := l.client.(type) {
	case *redis.Client:
		return map[*redis.Client]queue.Item{client: items[0]}
	case *redis.ClusterClient:
		all := map[*redis.Client]queue.Item{}
		for _, item := range items {
			if master, err := client.MasterForKey(ctx, l.waitingKey(item)); err == nil {
				all[master] = item
			} else {
				l.unreplicated.Add(1)
			}
		}
		return all
	}
	return nil
}

// Unreplicated counts the batches of joins and of admissions that were answered before as many replicas had them as asked for.
func (l *Line) Unreplicated() int64 { return l.unreplicated.Load() }
