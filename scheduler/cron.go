package scheduler

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/robfig/cron/v3"
)

// Cron runs what recurs: each job by its own schedule, never twice at once, and one that panics runs again next time.
type Cron struct{ c *cron.Cron }

// NewCron returns a Cron without jobs. Trouble with a job goes to the log.
func NewCron(log *slog.Logger) *Cron {
	l := cronLog{log}
	// Recover stands inside: a panic that reached SkipIfStillRunning would leave it believing that the job still runs.
	chain := cron.WithChain(cron.SkipIfStillRunning(quiet{}), cron.Recover(l))
	return &Cron{cron.New(cron.WithLocation(time.UTC), cron.WithLogger(l), chain)}
}

// Every runs a job once in each d, also below one second, at an instant of it that chance gives: the jobs of several nodes
// would else reach the store together.
func (c *Cron) Every(d time.Duration, job func()) {
	c.c.Schedule(every{interval: d, at: rand.N(d)}, cron.FuncJob(job))
}

// Start starts the jobs.
func (c *Cron) Start() { c.c.Start() }

// Stop starts no more jobs and waits for those that run, or for the end of ctx.
func (c *Cron) Stop(ctx context.Context) error {
	select {
	case <-c.c.Stop().Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// every is a schedule below the second that robfig/cron's own ends at.
type every struct{ interval, at time.Duration }

// Next gives the next instant after t that is `at` past a full multiple of the interval.
func (e every) Next(t time.Time) time.Time {
	return t.Add(-e.at).Truncate(e.interval).Add(e.interval + e.at)
}

// cronLog hands on what goes wrong and leaves out the rest.
type cronLog struct{ log *slog.Logger }

func (cronLog) Info(string, ...any) {}

func (l cronLog) Error(err error, msg string, kv ...any) {
	l.log.Error("scheduled job: "+msg, append([]any{"error", fmt.Sprint(err)}, kv...)...)
}

// quiet is for jobs that are skipped because the last run still goes on: the next run makes up for it.
type quiet struct{}

func (quiet) Info(string, ...any)         {}
func (quiet) Error(error, string, ...any) {}
