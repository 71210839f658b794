package app

import (
	"context"
	"sync/atomic"
	"time"
)

// The pace of the probe: the store counts as down after patience without an answer, within a second of the fault also
// when nobody asks anything of it, and as up again at the first answer.
const (
	probeEvery   = 100 * time.Millisecond
	probeTimeout = 250 * time.Millisecond
	patience     = 600 * time.Millisecond
)

// probe asks the store for itself whether it answers, so that no visitor's request has to find out.
type probe struct {
	ping func(context.Context) error
	// Down and Up are called at each change, one at a time.
	Down func(err error)
	Up   func()

	up atomic.Bool
}

// Run probes until ctx ends. A store that has not answered yet counts as down.
func (p *probe) Run(ctx context.Context) {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	answered, told := time.Now(), false
	for {
		call, cancel := context.WithTimeout(ctx, probeTimeout)
		err := p.ping(call)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			answered = time.Now()
			if p.up.CompareAndSwap(false, true) {
				told = false
				p.Up()
			}
		case time.Since(answered) > patience && !told:
			told = true
			p.up.Store(false)
			p.Down(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
