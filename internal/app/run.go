package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/scheduler"
	"github.com/sluicehq/sluice/scheduler/sale"
)

// The paces of what recurs.
const (
	beatsEvery     = time.Second            // heartbeats and renewals are sent
	keepEvery      = time.Second            // the queues' file is written, where there is something new
	keysEvery      = 500 * time.Millisecond // the keys of passes are looked at
	tidyEvery      = 10 * time.Second       // what is over is forgotten
	modesEvery     = time.Second            // queues are turned on and off as the modes say
	salesEvery     = 100 * time.Millisecond // steps of sales that are due are done
	risingEvery    = 2 * time.Second        // admin nodes are told of rising traffic
	exportPatience = time.Second            // for what is left to send at the end
	// offFor is how long a queue that is off is remembered by nodes: as long as a pass may live.
	offFor = 24 * time.Hour
	// seriesFor is how long an item's numbers are shown after this node's last step of it.
	seriesFor = 15 * time.Second
)

// Start opens the listeners and starts all that happens by itself. The error names the address that cannot be had.
func (a *App) Start(ctx context.Context) error {
	if err := a.listen(); err != nil {
		return errors.Join(err, a.close())
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a.cancel = cancel
	a.cron = scheduler.NewCron(a.log)
	if a.store.client != nil {
		a.loop(func() { a.probe.Run(run) })
		a.loop(func() { a.fleet.beat(run) })
		a.loop(func() { a.fleet.follow(run) })
		a.loop(func() { a.fleet.tell(run) })
		a.loop(func() { a.published.Follow(run) })
	}
	if a.admin != nil {
		a.loop(func() { a.admin.Follow(run) })
		a.loop(func() { a.admin.Deliver(run) })
		a.loop(func() { a.readings.Run(run) })
	}
	go func() {
		defer close(a.flushed)
		a.flusher.Run(run)
	}()
	if a.cfg.Roles.Scheduler {
		a.mover.WakeAll()
		a.cron.Every(a.mover.Phase(), func() { a.mover.Tick(run) })
		modes := scheduler.Modes{
			Line: a.healed, Board: a.board, Limits: a.limits, Share: a.share,
			Policies: func() *queue.Policies { return a.settings.Now().Policies() },
			Seen:     func(r queue.SwitchReport) { a.seen(r.Header) },
		}
		sales := scheduler.SaleClock{
			Line: tracedSales{a.healed, a.traces}, Board: a.board, Limits: a.limits, Share: a.share, Clock: a.clock,
			Sales: func() *sale.Calendar { return a.settings.Now().Sales() },
			Seen:  func(r queue.SwitchReport) { a.seen(r.Header) },
		}
		a.cron.Every(salesEvery, func() {
			if err := sales.Apply(run); err != nil && a.storeUp() {
				a.log.Error("sale steps not done", "err", err)
			}
		})
		a.cron.Every(modesEvery, func() {
			if err := modes.Apply(run); err != nil && a.storeUp() {
				a.log.Error("modes not applied", "err", err)
			}
		})
	}
	a.cron.Every(beatsEvery, func() { a.flushBeats(run) })
	a.cron.Every(keepEvery, a.keep)
	if a.store.client != nil {
		a.cron.Every(risingEvery, func() { a.tellRising(run) })
	}
	a.cron.Every(keysEvery, a.takePassKeys)
	a.cron.Every(tidyEvery, func() { a.tidy(run) })
	a.cron.Start()
	a.serve()
	return nil
}

func (a *App) loop(f func()) { a.loops.Go(f) }

func (a *App) flushBeats(ctx context.Context) {
	if err := a.beats.Flush(ctx); err != nil && !errors.Is(err, queue.ErrStoreDown) {
		a.log.Error("heartbeats not sent", "err", err)
	}
}

// keep writes the queues' file where there is something new.
func (a *App) keep() {
	if !a.dirty.Swap(false) {
		return
	}
	r := remembered{Queues: a.board.All()}
	if id := a.fleet.identity.Load(); id != nil {
		r.Identity = *id
	}
	if err := saveQueues(a.cfg.DataDir, r); err != nil {
		a.dirty.Store(true)
		a.log.Error("queues not kept in the data folder", "err", err)
	}
}

// tidy forgets queues that have long been off, and series of items that other nodes step.
func (a *App) tidy(ctx context.Context) {
	a.keepSeries()
	a.store.tidy()
	now := a.clock.Now().UnixMilli()
	for _, h := range a.board.All() {
		// A version is the instant of the change, or later.
		if !h.On() && now-h.Version > offFor.Milliseconds() {
			a.board.Forget(h.Item)
			a.gate.Forget(h.Item)
			if a.store.changes != nil {
				a.fleet.forget(ctx, h.Item)
			}
			a.dirty.Store(true)
		}
	}
}

// keepSeries drops the series of items that this node steps no more, so that sums over nodes are true.
func (a *App) keepSeries() { a.metrics.Keep(a.clock.Machine().Add(-seriesFor), a.share.Mine) }

// Stop drains: readiness fails, requests in flight end, counts and heartbeats are flushed. ctx bounds it.
func (a *App) Stop(ctx context.Context) error {
	a.gate.Drain()
	a.events.Close()
	if a.console != nil {
		a.console.Close()
	}
	err := a.listeners.shutdown(ctx)
	if cronErr := a.cron.Stop(ctx); cronErr != nil {
		err = errors.Join(err, fmt.Errorf("scheduled jobs: %w", cronErr))
	}
	a.cancel()
	select {
	case <-a.flushed:
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*storePatience)
	defer cancel()
	a.flushBeats(last)
	if a.store.client != nil {
		a.fleet.tellAll(last)
		_ = a.store.nodes.Leave(last) // the others take over after a moment all the same
	}
	a.loops.Wait()
	a.dirty.Store(true)
	a.keep()
	// What a receiver does not take within a moment is not worth waiting for: shutting down must not hang on it.
	sent, stop := context.WithTimeout(context.WithoutCancel(ctx), exportPatience)
	defer stop()
	if exportErr := a.export.Stop(sent); exportErr != nil {
		a.log.Warn("not all telemetry was sent", "err", exportErr)
	}
	return errors.Join(err, a.close())
}

// close lets go of what New opened.
func (a *App) close() error {
	var errs []error
	if a.sql != nil {
		errs = append(errs, a.sql.Close())
	}
	errs = append(errs, a.store.close())
	if a.lock != nil {
		errs = append(errs, a.lock.Close())
	}
	return errors.Join(errs...)
}
