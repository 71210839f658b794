package redistest_test

import (
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/redisserver"
	"github.com/sluicehq/sluice/internal/redistest"
	"github.com/sluicehq/sluice/internal/redisurl"
)

// soon waits for what the servers agree on among themselves.
func soon(t *testing.T, most time.Duration, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(most); !is(); <-time.After(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", most, what)
		}
	}
}

func TestTheSentinelsReplaceAPrimaryThatIsGone(t *testing.T) {
	t.Parallel()
	s := redistest.NewSentinels(t)
	ctx := t.Context()
	if s.Primary(ctx) != s.Servers[0] {
		t.Fatal("the first server is not the primary")
	}
	c, err := redisurl.Open(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Set(ctx, "cup", "full", 0).Err(); err != nil {
		t.Fatal(err)
	}
	soon(t, time.Second, "the replica has it", func() bool {
		replica := s.Servers[1].Client()
		defer replica.Close()
		return replica.Get(ctx, "cup").Val() == "full"
	})
	s.Servers[0].Kill()
	soon(t, 4*redisserver.FaultTimeout, "the replica takes over", func() bool { return c.Set(ctx, "plate", "full", 0).Err() == nil })
	if got, err := c.Get(ctx, "cup").Result(); got != "full" || s.Primary(ctx) != s.Servers[1] {
		t.Errorf("after it: %q, %v", got, err)
	}
}

func TestTheClusterReplacesAMasterThatIsGone(t *testing.T) {
	t.Parallel()
	s := redistest.NewCluster(t)
	ctx := t.Context()
	c, err := redisurl.Open(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Set(ctx, "cup", "full", 0).Err(); err != nil {
		t.Fatal(err)
	}
	master := s.MasterOf(ctx, "cup")
	if master == nil {
		t.Fatal("nobody serves the key")
	}
	more, err := s.AddMaster()
	if err != nil {
		t.Fatal(err)
	}
	slot := int(c.ClusterKeySlot(ctx, "cup").Val())
	if err := s.MoveSlots(ctx, master, more, slot, slot); err != nil {
		t.Fatal(err)
	}
	if got := c.Get(ctx, "cup").Val(); got != "full" || s.MasterOf(ctx, "cup") != more {
		t.Errorf("after a move of its slot: %q", got)
	}
	if err := s.MoveSlots(ctx, more, master, slot, slot); err != nil {
		t.Fatal(err)
	}
	master.Kill()
	soon(t, 4*redisserver.FaultTimeout, "its replica takes over", func() bool { return c.Get(ctx, "cup").Val() == "full" })
}
