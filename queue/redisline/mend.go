package redisline

import (
	"context"
	"fmt"

	"github.com/sluicehq/sluice/queue"
)

// Mend lets go of keys of an item that are not what a line writes, as another program or a hand may have left them:
// tickets, passes and nodes bring back what can be known of it. queue.ErrDamaged where the queue itself is such a key:
// Switch with queue.Restore puts it back. Repeating it is harmless. One script call.
func (l *Line) Mend(ctx context.Context, item queue.Item) error {
	keys := append(append(l.keys(item), l.onceKey(item)), l.ActiveKeys(item)...)
	got, err := mendScript.Run(ctx, l.client, keys).Slice()
	if err != nil {
		return fmt.Errorf("mend %s: %w", item, Fault(err))
	}
	if reply(got).int(0) == 0 {
		return fmt.Errorf("mend %s: the queue: %w", item, queue.ErrDamaged)
	}
	return nil
}
