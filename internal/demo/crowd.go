package demo

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/internal/visitor"
)

// crowd are people who want the item. Each comes, waits if told to, shops for a moment, buys and goes.
type crowd struct {
	node *node

	people sync.WaitGroup
	done   atomic.Int64 // looked, or bought, and went

	mu     sync.Mutex
	checks []time.Time // when each person came
	waits  []wait
	failed error
}

// traffic is how many people came within the trigger's window.
func (c *crowd) traffic() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	from := time.Now().Add(-windowSec * time.Second)
	i := len(c.checks)
	for i > 0 && c.checks[i-1].After(from) {
		i--
	}
	return len(c.checks) - i
}

// wait is one person's time in line.
type wait struct{ told, took time.Duration }

// come lets perSecond people in a second come, for a time.
func (c *crowd) come(ctx context.Context, perSecond int, for_ time.Duration) {
	tick := time.NewTicker(time.Second / time.Duration(perSecond))
	defer tick.Stop()
	end := time.After(for_)
	for {
		select {
		case <-ctx.Done():
			return
		case <-end:
			return
		case <-tick.C:
			c.mu.Lock()
			c.checks = append(c.checks, time.Now())
			c.mu.Unlock()
			c.people.Go(func() {
				if err := c.person(ctx); err != nil && ctx.Err() == nil {
					c.mu.Lock()
					c.failed = errors.Join(c.failed, err)
					c.mu.Unlock()
				}
			})
		}
	}
}

func (c *crowd) person(ctx context.Context) error {
	v := &visitor.Visitor{Client: c.node.http, Item: item}
	began := time.Now()
	a, err := v.Check(ctx, c.node.public)
	if err != nil {
		return err
	}
	if a.Reason == "queue_off" { // looks, and goes
		c.done.Add(1)
		return nil
	}
	waited := a.Action == "wait"
	var told time.Duration
	if waited && a.Place.EtaSeconds != nil {
		told = time.Duration(*a.Place.EtaSeconds) * time.Second
	}
	for a.Action == "wait" {
		if err := pause(ctx, time.Duration(a.Place.PollAfterMS)*time.Millisecond); err != nil {
			return err
		}
		if a, err = v.Status(ctx, c.node.public); err != nil {
			return err
		}
	}
	if waited {
		c.mu.Lock()
		c.waits = append(c.waits, wait{told, time.Since(began)})
		c.mu.Unlock()
	}
	if err := pause(ctx, time.Second+rand.N(2*time.Second)); err != nil { // shops
		return err
	}
	if a.Reason != "queue_off" {
		if err := v.Finish(ctx, c.node.public); err != nil {
			return err
		}
	}
	c.done.Add(1)
	return nil
}

// seen gives how many people came, how those who waited fared, and what went wrong.
func (c *crowd) seen() (came int, waits []wait, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.checks), slices.Clone(c.waits), c.failed
}

// pause waits for d, or for the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
