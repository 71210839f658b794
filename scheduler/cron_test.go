package scheduler_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/scheduler"
)

func TestCronRunsJobsBelowASecondAndSurvivesTheirPanics(t *testing.T) {
	t.Parallel()
	c := scheduler.NewCron(slog.New(slog.DiscardHandler))
	var runs, slow atomic.Int64
	enough, release := make(chan struct{}), make(chan struct{})
	c.Every(20*time.Millisecond, func() {
		if runs.Add(1) == 5 {
			close(enough)
		}
		panic("a job that panics runs again")
	})
	c.Every(20*time.Millisecond, func() {
		slow.Add(1)
		<-release
	})
	c.Start()
	select {
	case <-enough:
	case <-time.After(5 * time.Second):
		t.Fatalf("%d runs in 5 s", runs.Load())
	}
	if n := slow.Load(); n != 1 {
		t.Errorf("a job that still runs was started %d times", n)
	}
	close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := c.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
}
