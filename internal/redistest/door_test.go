package redistest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/redistest"
	"github.com/sluicehq/sluice/internal/redisurl"
)

func TestDoor(t *testing.T) {
	t.Parallel()
	a, b := redistest.New(t), redistest.New(t)
	door := redistest.NewDoor(t, a.Addr())
	c, err := redisurl.Open("redis://" + door.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := t.Context()
	if err := c.Set(ctx, "cup", "full", 0).Err(); err != nil || c.Get(ctx, "cup").Val() != "full" {
		t.Fatalf("through the door: %v", err)
	}
	door.Refuse("MISCONF no disk")
	if err := c.Set(ctx, "cup", "empty", 0).Err(); err == nil || !strings.HasPrefix(err.Error(), "MISCONF") {
		t.Errorf("a refused write: %v", err)
	}
	if c.Ping(ctx).Err() != nil || c.Get(ctx, "cup").Val() != "full" {
		t.Error("PING and GET are refused too, or the write was not")
	}
	door.Rule(func(command []string) redistest.Fate {
		if command[0] == "INCR" {
			return redistest.Fate{Hold: time.Minute}
		}
		return redistest.Fate{}
	})
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := c.Incr(short, "count").Err(); err == nil {
		t.Error("the answer was not held up")
	}
	if got := c.Get(ctx, "count").Val(); got != "1" {
		t.Errorf("count is %q: the command whose answer is held up was done", got)
	}
	door.Rule(nil)
	door.Lead(b.Addr())
	if got := c.Get(ctx, "cup").Val(); got != "full" {
		t.Errorf("on an open connection: %q", got)
	}
	door.Cut()
	_ = c.Ping(ctx).Err() // finds the connection closed
	if got := c.Get(ctx, "cup").Val(); got != "" {
		t.Errorf("on a new connection: %q", got)
	}
}
