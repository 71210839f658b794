package redisline_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/internal/redistest"
	"github.com/sluicehq/sluice/queue/redisline"
)

// B055: a sign of life from a time when the store's clock was wrong keeps no dead node alive.
func TestASignOfLifeThatIsStillToComeIsNone(t *testing.T) {
	t.Parallel()
	r := redistest.Shared(t)
	client, ctx := r.Client(), t.Context()
	beat := func(node string) []string {
		t.Helper()
		roll, err := redisline.NewNodes(client, r.Prefix(), node, "key", time.Second).Beat(ctx)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(roll.Living)
		return roll.Living
	}
	beat("a")
	ahead := float64(time.Now().Add(2 * time.Hour).UnixMilli())
	for _, node := range []string{"a", "dead"} {
		if err := client.ZAdd(ctx, r.Prefix()+"{+}:nodes", redis.Z{Score: ahead, Member: node}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if got := beat("b"); !slices.Equal(got, []string{"b"}) {
		t.Errorf("%v live", got)
	}
	if got := beat("a"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%v live", got)
	}
}
