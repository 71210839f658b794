package app

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/internal/ticket"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/redisline"
)

// fleet keeps this node in step with the others: signs of life, the change stream, what is to be told.
type fleet struct {
	app      *App
	identity atomic.Pointer[string] // of the store whose queues this node knows; nil = it has met none
	synced   atomic.Bool            // the board has the states of all queues, and the stream goes on from there
	met      atomic.Bool            // it has had them since the start: what it does not know is off, also while the store is away
	looked   atomic.Bool            // so, or it was clear that the store is away

	mu      sync.Mutex
	heard   map[queue.Item]int64        // versions that the stream brought: not to be told again
	pending map[queue.Item]queue.Header // to be told
	ended   []redisline.Ended           // to be told
	recalls map[queue.Item]struct{}     // lines that may have lost the marks that this node remembers
	settled []string                    // times of sales to be noted
	wake    chan struct{}
}

// mostEnded bounds the ended passes that wait to be told; who is past it is refused at the next renewal. It bounds what is to
// be noted of sales too.
const mostEnded = 10_000

func newFleet(a *App) *fleet {
	return &fleet{app: a, heard: map[queue.Item]int64{}, pending: map[queue.Item]queue.Header{}, recalls: map[queue.Item]struct{}{}, wake: make(chan struct{}, 1)}
}

// beat gives signs of life until ctx ends: it learns who lives, what time it is at the store, and whether the store is
// still the one this node knew. Only nodes that move lines are on the roll: each of them has a share of the items, and
// a share of one that moves nothing would stand still.
func (f *fleet) beat(ctx context.Context) {
	sign := f.app.store.nodes.Beat
	if !f.app.cfg.Roles.Scheduler {
		sign = f.app.store.nodes.Look
	}
	each(ctx, beatEvery, func() {
		call, cancel := context.WithTimeout(ctx, beatEvery*2)
		defer cancel()
		sent := clockOf(f.app.clock).Now()
		roll, err := sign(call)
		if err != nil {
			return // the probe tells
		}
		f.app.clock.Saw(roll.NowMS, sent)
		f.app.warnOfSkew()
		if f.app.share.Set(roll.Living) {
			f.app.mover.WakeAll()
			f.app.keepSeries()
		}
		f.meet(ctx, roll.Identity)
	})
}

// meet compares the store with the one this node knew, and puts back what one that lost everything had.
func (f *fleet) meet(ctx context.Context, identity string) {
	known := f.identity.Load()
	if known != nil && *known == identity {
		return
	}
	if known != nil {
		f.app.log.WarnContext(ctx, "the store has lost its data; queues and settings are put back")
		err := errors.Join(f.app.healed.RestoreAll(ctx), f.app.published.Refresh(ctx))
		if errors.Is(err, queue.ErrStoreDown) {
			return // again at the next beat
		}
		if err != nil {
			f.app.log.ErrorContext(ctx, "not all queues could be put back", "err", err)
		}
	}
	f.identity.Store(&identity)
	f.app.dirty.Store(true)
}

// lost reports whether the store has lost everything since this node met it.
func (f *fleet) lost(ctx context.Context) (bool, error) {
	roll, err := f.app.store.nodes.Look(ctx)
	if err != nil {
		return false, err
	}
	known := f.identity.Load()
	return known == nil || *known != roll.Identity, nil
}

// checkKey refuses a store whose nodes sign with another key. A store that cannot be reached is not refused.
func (f *fleet) checkKey(ctx context.Context, fingerprint string) error {
	roll, err := f.app.store.nodes.Look(ctx)
	if err != nil {
		f.app.log.WarnContext(ctx, "the store cannot be reached; starting from what is known", "err", err)
		return nil
	}
	if !ticket.Agree(roll.Fingerprint, fingerprint) {
		return errOtherKey
	}
	return nil
}

// follow takes over what the others tell, until ctx ends.
func (f *fleet) follow(ctx context.Context) {
	const wait = time.Second
	var after string
	for ctx.Err() == nil {
		if !f.synced.Load() {
			tail, err := f.sync(ctx)
			if err != nil {
				pause(ctx, beatEvery)
				continue
			}
			after = tail
		}
		call, cancel := context.WithTimeout(ctx, 2*wait)
		changes, next, err := f.app.store.changes.Next(call, after, wait)
		cancel()
		if err != nil {
			f.synced.Store(false)
			pause(ctx, beatEvery)
			continue
		}
		after = next
		for _, c := range changes {
			f.take(ctx, c)
		}
	}
}

// sync reads the list of all queues; the stream goes on from the id it gives.
func (f *fleet) sync(ctx context.Context) (after string, err error) {
	call, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	if after, err = f.app.store.changes.Tail(call); err != nil {
		return "", err
	}
	headers, err := f.app.store.changes.Queues(call)
	if err != nil {
		return "", err
	}
	for _, h := range headers {
		f.put(h)
	}
	f.synced.Store(true)
	f.met.Store(true)
	f.looked.Store(true)
	return after, nil
}

func (f *fleet) take(ctx context.Context, c redisline.Change) {
	switch {
	case c.Queue != nil:
		f.put(*c.Queue)
	case c.Ended != nil:
		f.app.beats.EndPass(c.Ended.Item, c.Ended.Visitor, c.Ended.AtMS)
	case c.Settings:
		if err := f.app.published.Refresh(ctx); err != nil {
			f.app.log.DebugContext(ctx, "settings not read; the next poll does", "err", err)
		}
	}
}

func (f *fleet) put(h queue.Header) {
	f.mu.Lock()
	f.heard[h.Item] = max(f.heard[h.Item], h.Version)
	f.mu.Unlock()
	f.app.board.Put(h)
}

// announce has the others told of a header, unless they told it.
func (f *fleet) announce(h queue.Header) {
	f.mu.Lock()
	if f.heard[h.Item] < h.Version && h.Newer(f.pending[h.Item]) {
		f.pending[h.Item] = h
	}
	f.mu.Unlock()
	f.nudge()
}

// tellEnded has the others told that a visitor's passes have ended.
func (f *fleet) tellEnded(e redisline.Ended) {
	f.mu.Lock()
	if len(f.ended) < mostEnded {
		f.ended = append(f.ended, e)
	}
	f.mu.Unlock()
	f.nudge()
}

// settle has it noted that a time of a sale has opened or was turned off.
func (f *fleet) settle(mark string) {
	f.mu.Lock()
	if len(f.settled) < mostEnded {
		f.settled = append(f.settled, mark)
	}
	f.mu.Unlock()
	f.nudge()
}

// recall has an item's line given the marks that this node remembers.
func (f *fleet) recall(item queue.Item) {
	f.mu.Lock()
	f.recalls[item] = struct{}{}
	f.mu.Unlock()
	f.nudge()
}

func (f *fleet) nudge() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// tell tells the others what is to be told, until ctx ends.
func (f *fleet) tell(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		}
		for !f.tellAll(ctx) && ctx.Err() == nil {
			pause(ctx, beatEvery)
		}
	}
}

// tellAll reports whether nothing is left to be told.
func (f *fleet) tellAll(ctx context.Context) bool {
	f.mu.Lock()
	headers, ended, recalls, settled := f.pending, f.ended, f.recalls, f.settled
	f.pending, f.ended, f.recalls, f.settled = map[queue.Item]queue.Header{}, nil, map[queue.Item]struct{}{}, nil
	f.mu.Unlock()
	all := true
	if len(recalls) > 0 {
		for _, item := range f.app.recall(ctx, recalls) {
			all = false
			f.mu.Lock()
			f.recalls[item] = struct{}{}
			f.mu.Unlock()
		}
	}
	for _, h := range headers {
		if err := f.app.store.changes.Announce(ctx, h); err != nil {
			all = false
			f.mu.Lock()
			if h.Newer(f.pending[h.Item]) {
				f.pending[h.Item] = h
			}
			f.mu.Unlock()
		}
	}
	for _, mark := range settled {
		if err := f.app.store.settled.Note(ctx, mark, f.app.clock.Now().UnixMilli()); err != nil {
			all = false
			f.settle(mark)
		}
	}
	for i, e := range ended {
		if err := f.app.store.changes.TellEnded(ctx, e); err != nil {
			f.mu.Lock()
			f.ended = append(ended[i:], f.ended...)
			f.mu.Unlock()
			return false
		}
	}
	return all
}

// forget drops what is kept of an item whose queue has long been off.
func (f *fleet) forget(ctx context.Context, item queue.Item) {
	f.mu.Lock()
	delete(f.heard, item)
	f.mu.Unlock()
	_ = f.app.store.changes.Forget(ctx, item) // the next one to look forgets it
}

// each runs f at once and then at each interval, until ctx ends.
func each(ctx context.Context, interval time.Duration, f func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		f()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// pause waits for a time, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
