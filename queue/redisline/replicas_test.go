package redisline_test

import (
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/internal/redistest"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/redisline"
)

// people line up in an open queue of an item, and one is let in.
func lineUp(t *testing.T, line *redisline.Line, items ...queue.Item) {
	t.Helper()
	orders := make([]queue.StepOrder, len(items))
	for i, item := range items {
		limits := queue.DefaultPolicy().Limits(1)
		if _, err := line.Switch(t.Context(), item, queue.SwitchOrder{Action: queue.Activate, Limits: limits}); err != nil {
			t.Fatal(err)
		}
		asks := []queue.Ask{{Visitor: queue.NewVisitor(), Create: true}, {Visitor: queue.NewVisitor(), Create: true}}
		if _, err := line.Ask(t.Context(), item, asks); err != nil {
			t.Fatal(err)
		}
		orders[i] = queue.StepOrder{Limits: limits, Most: 100, TickMS: 250}
	}
	in := 0
	for deadline := time.Now().Add(5 * time.Second); in < len(items) && time.Now().Before(deadline); <-time.After(20 * time.Millisecond) {
		reports, errs := line.StepMany(t.Context(), items, orders)
		for i, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
			in += len(reports[i].Admitted)
		}
	}
	if in < len(items) {
		t.Fatalf("%d were let in", in)
	}
}

// What replicas are asked for, they have when a join or an admission is answered; where they cannot, it is answered soon all the
// same, and counted.
func TestReplicasAreWaitedFor(t *testing.T) {
	t.Parallel()
	primary := redistest.New(t)
	host, port, _ := net.SplitHostPort(primary.Addr())
	replica := redistest.New(t, "--replicaof", host+" "+port)
	copied := replica.Client()
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(copied.Info(t.Context(), "replication").Val(), "master_link_status:up"); <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the replica does not follow")
		}
	}
	line := redisline.New(redisline.Options{Client: primary.Client(), Prefix: "sluice:", MinReplicas: 1})
	lineUp(t, line, "shoe")
	if n := copied.ZCard(t.Context(), "sluice:{shoe}:running").Val(); n == 0 && line.Unreplicated() == 0 {
		t.Error("the replica has nobody inside")
	}
	without := line.Unreplicated()
	for i := range 20 {
		if _, err := line.Ask(t.Context(), "shoe", []queue.Ask{{Visitor: queue.NewVisitor(), Create: true}}); err != nil {
			t.Fatal(err)
		}
		n := copied.ZCard(t.Context(), "sluice:{shoe}:waiting").Val() + copied.ZCard(t.Context(), "sluice:{shoe}:running").Val()
		if n != int64(3+i) && line.Unreplicated() == without { // on a busy machine a replica may need longer than is waited
			t.Fatalf("the replica has %d people right after join %d", n, i+3)
		}
		without = line.Unreplicated()
	}
	if without >= 20 {
		t.Errorf("%d batches were answered without the replica", without)
	}
	replica.Pause()
	defer replica.Resume()
	began := time.Now()
	if _, err := line.Ask(t.Context(), "shoe", []queue.Ask{{Visitor: queue.NewVisitor(), Create: true}}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); line.Unreplicated() != without+1 || took < 100*time.Millisecond || took > 2*time.Second {
		t.Errorf("%d batches counted after %v without the replica", line.Unreplicated(), took)
	}
}

// In a cluster it is the replicas of the item's own master that are waited for.
func TestReplicasOfAClusterAreWaitedFor(t *testing.T) {
	t.Parallel()
	c := redistest.NewCluster(t)
	client := c.Client()
	defer client.Close()
	line := redisline.New(redisline.Options{Client: client, Prefix: "sluice:", MinReplicas: 1})
	var items []queue.Item
	masters := map[*redis.Client]bool{}
	for i := range 12 {
		items = append(items, queue.Item(fmt.Sprintf("item-%d", i)))
		master, err := client.MasterForKey(t.Context(), "sluice:{"+string(items[i])+"}:waiting")
		if err != nil {
			t.Fatal(err)
		}
		masters[master] = true
	}
	lineUp(t, line, items...)
	if n := line.Unreplicated(); n >= int64(len(items)) || len(masters) != 3 { // a batch of joins each, and some of admissions
		t.Errorf("%d batches were answered without a replica, at %d masters", n, len(masters))
	}
	for _, s := range c.Servers[3:] {
		if err := s.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	before := line.Unreplicated()
	if _, err := line.Ask(t.Context(), items[0], []queue.Ask{{Visitor: queue.NewVisitor(), Create: true}}); err != nil || line.Unreplicated() != before+1 {
		t.Errorf("without replicas: %v, %d counted", err, line.Unreplicated()-before)
	}
}
