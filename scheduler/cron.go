package scheduler

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/robfig/cron/v3"
)

// Cron runs what recurs: each job by a pace of its own, never twice at once, and one that panics runs again next time. The
// pace is that of elapsed time: a clock that is set back, or forward, changes nothing.
type Cron struct {
	chain cron.Chain
	jobs  []recurring
	ended chan struct{}
	end   func()
	run   sync.WaitGroup
}

// recurring is a job and the time between two starts of it.
type recurring struct {
	every time.Duration
	job   cron.Job
}

// NewCron returns a Cron without jobs. Trouble with a job goes to the log.
func NewCron(log *slog.Logger) *Cron {
	c := &Cron{chain: cron.NewChain(cron.Recover(cronLog{log})), ended: make(chan struct{})}
	c.end = sync.OnceFunc(func() { close(c.ended) })
	return c
}

// Every runs a job once in each d, from a first time within d that chance gives: the jobs of several nodes would else
// reach the store together. A run that is due while the last one still goes on is left out.
func (c *Cron) Every(d time.Duration, job func()) {
	c.jobs = append(c.jobs, recurring{d, c.chain.Then(cron.FuncJob(job))})
}

// Start starts the jobs.
func (c *Cron) Start() {
	for _, r := range c.jobs {
		c.run.Go(func() { r.recur(c.ended) })
	}
}

// recur runs a job at its pace, until ended is closed.
func (r recurring) recur(ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-time.After(rand.N(r.every)):
	}
	tick := time.NewTicker(r.every)
	defer tick.Stop()
	for {
		r.job.Run()
		select {
		case <-ended:
			return
		case <-tick.C:
		}
	}
}

// Stop starts no more jobs and waits for those that run, or for the end of ctx.
func (c *Cron) Stop(ctx context.Context) error {
	c.end()
	over := make(chan struct{})
	go func() { defer close(over); c.run.Wait() }()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// cronLog hands on what goes wrong and leaves out the rest.
type cronLog struct{ log *slog.Logger }

func (cronLog) Info(string, ...any) {}

func (l cronLog) Error(err error, msg string, kv ...any) {
	l.log.Error("scheduled job: "+msg, append([]any{"error", fmt.Sprint(err)}, kv...)...)
}
