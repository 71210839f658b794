package app

import (
	"context"
	"strings"
	"time"

	"github.com/sluicehq/sluice/admin"
	"github.com/sluicehq/sluice/detector"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/scheduler/sale"
)

// deadLetters counts the messages to webhooks that were given up; nil on a node that does not know.
func (a *App) deadLetters() func() int64 {
	if !a.cfg.Roles.Admin {
		return nil
	}
	return func() int64 { return a.admin.DeadLetters() }
}

// unreplicated counts what was answered before enough replicas had it.
func (a *App) unreplicated() int64 {
	if a.store.unreplicated == nil {
		return 0
	}
	return a.store.unreplicated()
}

// warnSkew is the difference between this machine's clock and the store's that operators should know of.
const warnSkew = 500 * time.Millisecond

// seen takes over a header from wherever it came.
func (a *App) seen(h queue.Header) {
	if h.Version > 0 {
		a.board.Put(h)
	}
}

// changed is told of each header that the board takes over.
func (a *App) changed(old, now queue.Header) {
	if now.On() {
		a.mover.Wake(now.Item)
	}
	if a.store.changes != nil {
		a.fleet.announce(now)
		if now.On() && old.Generation == now.Generation && old.Epoch != now.Epoch {
			a.fleet.recall(now.Item) // the line has lost something
		}
	}
	a.dirty.Store(true)
	for _, kind := range kinds(old, now, a.closedByHand) {
		h := now
		if kind == admin.QueueActivated {
			a.activated(now)
		}
		if kind == admin.QueueReleased && old.On() {
			h.Generation = old.Generation
		}
		e := admin.Event{Type: kind, Item: now.Item, Time: a.clock.Now(), Header: &h, Reason: reason(kind, now)}
		if strings.HasPrefix(kind, "sale.") {
			e.Data = admin.SaleData(a.settings.Now().Sales(), now)
		}
		a.events.Publish(e)
	}
}

// closedByHand reports whether it was not the end of its sale that closed a queue of a sale: the sale is still on.
func (a *App) closedByHand(h queue.Header) bool {
	// A version is the instant of the change, by a clock that may be somewhat behind that of the node that made it.
	const apart = 1000
	on := a.settings.Now().Sales().On(h.Item, h.Version+apart)
	return on != nil && on.Marked(h)
}

// kinds are the events that a change of the header is.
func kinds(old, now queue.Header, closedByHand func(queue.Header) bool) []string {
	switch {
	case !now.On():
		if old.On() {
			return []string{admin.QueueReleased}
		}
		return nil
	case !old.On():
		if kind := saleStep(old, now); kind != "" {
			return []string{admin.QueueActivated, kind}
		}
		return []string{admin.QueueActivated}
	case old.Generation != now.Generation:
		return []string{admin.QueueReleased, admin.QueueActivated}
	case old.State == now.State:
		if now.State == queue.Open && takenOver(old, now) {
			return []string{admin.SaleOpened}
		}
		return nil
	}
	switch kind := saleStep(old, now); {
	case kind == admin.SaleOpened:
		return []string{kind}
	case kind == admin.SaleClosed && !closedByHand(now):
		return []string{admin.QueueClosed, kind}
	}
	switch now.State {
	case queue.Paused:
		return []string{admin.QueuePaused}
	case queue.Closed:
		return []string{admin.QueueClosed}
	case queue.Open:
		if old.State == queue.Paused {
			return []string{admin.QueueResumed}
		}
	}
	return nil
}

// takenOver reports whether a sale has taken over a queue that was on, from something else or from another occurrence.
func takenOver(old, now queue.Header) bool {
	if now.Cause != queue.BySale {
		return false
	}
	id, opensMS := sale.ByOf(now.By)
	oldID, oldOpensMS := sale.ByOf(old.By)
	return old.Cause != queue.BySale || id != oldID || opensMS != oldOpensMS
}

// saleStep is the event of a step of a sale; "" where the change is none.
func saleStep(old, now queue.Header) string {
	switch {
	case now.Cause != queue.BySale:
	case now.State == queue.Prequeue && !old.On():
		return admin.SalePrequeue
	case now.State == queue.Open && (!old.On() || old.State == queue.Prequeue):
		return admin.SaleOpened
	case now.State == queue.Closed:
		return admin.SaleClosed
	}
	return ""
}

// reason is why a queue was released, as far as the header tells; a node that released it itself told more already.
func reason(kind string, now queue.Header) string {
	switch {
	case kind != admin.QueueReleased:
		return ""
	case now.On():
		return "reset"
	}
	return "released"
}

// released is told of each step that turned a queue off, with the books.
func (a *App) released(r queue.StepReport) {
	h, ended := r.Header, queue.Ended{Counts: r.Counts, Story: r.Story}
	a.events.Publish(admin.Event{
		Type: admin.QueueReleased, Item: h.Item, Time: time.UnixMilli(r.NowMS).UTC(), Header: &h, Ended: &ended, Reason: r.Reason,
	})
}

// restored is told of each queue that was put back after a loss.
func (a *App) restored(h queue.Header) {
	a.log.Warn("queue put back after a loss of the store", "item", h.Item, "generation", h.Generation)
	a.events.Publish(admin.Event{Type: admin.StoreRestored, Item: h.Item, Time: a.clock.Now(), Header: &h})
}

// stepped is told of each step of this node.
func (a *App) stepped(r queue.StepReport, lag time.Duration) {
	a.failing.Delete(r.Header.Item)
	if r.Missing {
		return
	}
	if len(r.Admitted) > 0 {
		a.gate.Moved(r.Header.Item)
	}
	a.metrics.Stepped(r, a.limits(r.Header.Item), lag, a.clock.Machine(), a.waited(r))
	if a.store.client == nil {
		a.clock.Saw(r.NowMS, time.UnixMilli(r.NowMS))
	}
}

// waited makes the span of each wait that a step has ended, and gives the traces of those that are sampled; nil where nothing
// is traced.
func (a *App) waited(r queue.StepReport) []string {
	if a.traces == nil || len(r.Admitted) == 0 {
		return nil
	}
	ids, now := make([]string, len(r.Admitted)), time.UnixMilli(r.NowMS)
	for i, in := range r.Admitted {
		from := queue.ScoreTime(in.Score)
		if from.IsZero() {
			from = time.UnixMilli(r.Header.ActivatedMS) // drawn by lot: since people gathered
		}
		ids[i] = a.traces.Waited(r.Header.Item, in.Visitor, r.Header.Generation, from, now)
	}
	return ids
}

func (a *App) stepFailed(item queue.Item, err error) {
	a.metrics.StepFailed()
	if _, told := a.failing.LoadOrStore(item, true); !told && a.storeUp() {
		a.log.Error("steps fail", "item", item, "err", err)
	}
}

// active is how many users of an item are active at this moment, over all nodes.
func (a *App) active(ctx context.Context, item queue.Item) int64 {
	limits := a.limits(item)
	verdicts, err := a.store.traffic.Flush(ctx, []detector.Sample{
		{Item: item, Limits: limits, Node: a.cfg.NodeID + "/look", Seq: a.looks.Add(1)},
	})
	if err != nil || len(verdicts) == 0 {
		return 0
	}
	return int64(verdicts[0].Active)
}

func (a *App) lost(ctx context.Context) (bool, error) {
	if a.store.nodes == nil {
		return false, nil
	}
	return a.fleet.lost(ctx)
}

// ping asks whether the store takes writes: it is of no use without. Of a cluster one server has to.
func (a *App) ping(ctx context.Context) error {
	switch {
	case a.store.client == nil:
		return nil
	case a.store.shards != nil:
		return a.store.shards.ask(ctx)
	}
	return takesWrites(ctx, a.store.client)
}

func (a *App) storeUp() bool { return a.store.client == nil || a.probe.up.Load() }

func (a *App) synced() bool { return a.store.client == nil || a.fleet.met.Load() }

// looked reports whether the first look at the queues is over: all of them have been read from the store, or the store
// is known to be away, and what was last known holds.
func (a *App) looked() bool { return a.store.client == nil || a.fleet.looked.Load() }

func (a *App) storeDown(err error) {
	a.fleet.looked.Store(true)
	a.log.Error("the store does not answer", "err", err)
	a.events.Publish(admin.Event{Type: admin.StoreDown, Time: a.clock.Now(), Data: map[string]any{"node": a.cfg.NodeID}})
}

func (a *App) storeCameUp() {
	a.log.Info("the store answers")
	a.fleet.synced.Store(false) // what was told meanwhile may be gone: look at all queues again
	a.events.Publish(admin.Event{Type: admin.StoreUp, Time: a.clock.Now(), Data: map[string]any{"node": a.cfg.NodeID}})
}

func (a *App) warnOfSkew() {
	skewed := a.clock.Skew().Abs() > warnSkew
	if a.skewed.Swap(skewed) != skewed && skewed {
		a.log.Warn("this machine's clock differs from the store's", "skew", a.clock.Skew())
	}
}
