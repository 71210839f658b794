package scheduler_test

import (
	"fmt"
	"testing"

	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/scheduler"
)

func shares(nodes ...string) []*scheduler.Share {
	all := make([]*scheduler.Share, len(nodes))
	for i, n := range nodes {
		all[i] = scheduler.NewShare(n)
		all[i].Set(nodes)
	}
	return all
}

func TestEachItemBelongsToOneNode(t *testing.T) {
	t.Parallel()
	all := shares("a", "b", "c")
	owned := make([]int, len(all))
	for k := range 10_000 {
		owners := 0
		for i, s := range all {
			if s.Mine(queue.Item(fmt.Sprintf("sku-%d", k))) {
				owners++
				owned[i]++
			}
		}
		if owners != 1 {
			t.Fatalf("item %d has %d owners", k, owners)
		}
	}
	for i, n := range owned {
		if n < 3000 || n > 3700 {
			t.Errorf("node %d has %d of 10,000 items; want about a third", i, n)
		}
	}
}

func TestADeadNodesItemsAloneMove(t *testing.T) {
	t.Parallel()
	all := shares("a", "b", "c")
	before := map[queue.Item]bool{}
	for k := range 1000 {
		item := queue.Item(fmt.Sprintf("sku-%d", k))
		before[item] = all[0].Mine(item)
	}
	if !all[0].Set([]string{"a", "b"}) {
		t.Error("a node less is no change")
	}
	if all[0].Set([]string{"b", "a"}) {
		t.Error("another order of the same nodes is a change")
	}
	for item, mine := range before {
		if mine && !all[0].Mine(item) {
			t.Errorf("item %s left a living node", item)
		}
	}
}

func TestANodeCountsItselfAsLiving(t *testing.T) {
	t.Parallel()
	s := scheduler.NewShare("a")
	s.Set(nil)
	if !s.Mine("sku-1") || s.Nodes() != 1 {
		t.Error("a node that nobody lists steps nothing")
	}
}
