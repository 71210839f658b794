// Package heal brings queues back that the store has lost: a node remembers what it last saw of each, and whoever
// finds the store empty puts it there again. Places come back by tickets, passes by their signatures.
package heal

import (
	"context"
	"errors"
	"sync"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/queue"
)

// line is the part of a store that healing stands before.
type line interface {
	Ask(ctx context.Context, item queue.Item, asks []queue.Ask) (queue.Answers, error)
	Step(ctx context.Context, item queue.Item, o queue.StepOrder) (queue.StepReport, error)
	Look(ctx context.Context, item queue.Item) (queue.Snapshot, error)
	StepMany(ctx context.Context, items []queue.Item, orders []queue.StepOrder) ([]queue.StepReport, []error)
	Switch(ctx context.Context, item queue.Item, o queue.SwitchOrder) (queue.SwitchReport, error)
}

// Options configures a Line. All but Restored and Released are required.
type Options struct {
	Line  line
	Board *queue.Board
	Clock clock.Clock // the store's
	// Limits gives the numbers of the policy in force for an item.
	Limits func(queue.Item) queue.Limits
	// Lost reports whether the store has lost everything since this node last looked (another identity). It is asked
	// when the store has nothing of a queue that should be on.
	Lost func(context.Context) (bool, error)
	// Restored, where set, is told of each queue that was put back.
	Restored func(queue.Header)
	// Released, where set, is told of each step that turned a queue off, before the board is.
	Released func(queue.StepReport)
}

// Line is a line whose queues survive the loss of the store.
type Line struct {
	o Options

	mu    sync.Mutex
	known map[queue.Item]numbers
}

// numbers are what is remembered of an item besides its header.
type numbers struct {
	last, inside int64
	toldMS       int64 // until when somebody near the head may be silent as told
}

// New returns a line that heals.
func New(o Options) *Line { return &Line{o: o, known: map[queue.Item]numbers{}} }

// Ask is the store's Ask; where the store has lost the item's queue it is put back first.
func (l *Line) Ask(ctx context.Context, item queue.Item, asks []queue.Ask) (queue.Answers, error) {
	got, err := l.o.Line.Ask(ctx, item, asks)
	if errors.Is(err, queue.ErrDamaged) {
		if err = l.Mend(ctx, item); err == nil {
			got, err = l.o.Line.Ask(ctx, item, asks)
		}
	}
	if err != nil {
		return got, err
	}
	if l.missing(item, got.Header) {
		back, err := l.Restore(ctx, item)
		if err != nil {
			return got, err
		}
		if back {
			if got, err = l.o.Line.Ask(ctx, item, asks); err != nil {
				return got, err
			}
		}
	}
	var last int64
	for _, a := range got.Answers {
		if a.Score >= queue.MaxLot { // a lot is no arrival: the store's last score knows nothing of it
			last = max(last, a.Score)
		}
	}
	l.note(got.Header, last, got.Counts)
	return got, nil
}

// StepMany is the store's StepMany with what this node knows; a queue that the store has lost is put back.
func (l *Line) StepMany(ctx context.Context, items []queue.Item, orders []queue.StepOrder) ([]queue.StepReport, []error) {
	for i, item := range items {
		orders[i].Seen = l.Known(item)
	}
	reports, errs := l.o.Line.StepMany(ctx, items, orders)
	for i, item := range items {
		if errors.Is(errs[i], queue.ErrDamaged) {
			if errs[i] = l.Mend(ctx, item); errs[i] == nil {
				reports[i], errs[i] = l.o.Line.Step(ctx, item, orders[i])
			}
		}
		if errs[i] == nil && reports[i].Missing && l.o.Board.Get(item).On() {
			reports[i], errs[i] = l.stepAgain(ctx, item, orders[i])
		}
		if errs[i] == nil && !reports[i].Missing {
			l.stepped(reports[i])
		}
	}
	return reports, errs
}

// stepAgain puts a queue back that the store has lost, and steps it.
func (l *Line) stepAgain(ctx context.Context, item queue.Item, o queue.StepOrder) (queue.StepReport, error) {
	back, err := l.Restore(ctx, item)
	if err != nil || !back {
		return queue.StepReport{Missing: true, Header: l.o.Board.Get(item)}, err
	}
	return l.o.Line.Step(ctx, item, o)
}

func (l *Line) stepped(r queue.StepReport) {
	if r.Restored {
		l.forget(r.Header.Item)
		if l.o.Restored != nil {
			l.o.Restored(r.Header)
		}
	}
	if r.Released && l.o.Released != nil {
		l.o.Released(r)
	}
	l.note(r.Header, r.LastScore, r.Counts)
}

// Switch is the store's Switch; a queue that the store has lost is put back first, so that no order starts a new
// generation in its place, and an item whose keys are damaged is mended.
func (l *Line) Switch(ctx context.Context, item queue.Item, o queue.SwitchOrder) (queue.SwitchReport, error) {
	if l.o.Board.Get(item).On() {
		look, err := l.o.Line.Look(ctx, item)
		if err == nil && l.missing(item, look.Header) {
			_, err = l.Restore(ctx, item)
		}
		if err != nil && !errors.Is(err, queue.ErrDamaged) {
			return queue.SwitchReport{}, err
		}
	}
	got, err := l.o.Line.Switch(ctx, item, o)
	if errors.Is(err, queue.ErrDamaged) {
		if err = l.Mend(ctx, item); err == nil {
			got, err = l.o.Line.Switch(ctx, item, o)
		}
	}
	return got, err
}

// Mend makes an item whole whose keys are damaged: what this node knows of its queue is put back, if the store has it no
// more.
func (l *Line) Mend(ctx context.Context, item queue.Item) error {
	_, err := l.putBack(ctx, item, l.Known(item))
	return err
}

// missing reports whether the store's answer is that of one that knows nothing of a queue that should be on.
func (l *Line) missing(item queue.Item, h queue.Header) bool {
	return h.Version == 0 && l.o.Board.Get(item).On()
}

// Restore puts an item's queue back into a store that has lost it, and reports whether the queue is on now. A store
// that has lost nothing has let go of a queue that is off: this node had missed that, and learns it here.
func (l *Line) Restore(ctx context.Context, item queue.Item) (bool, error) {
	known := l.Known(item)
	if !known.Header.On() {
		return false, nil
	}
	lost, err := l.o.Lost(ctx)
	if err != nil {
		return false, err
	}
	if !lost {
		// Another node, or another call of this one, may have put it back since the answer that found nothing.
		look, err := l.o.Line.Look(ctx, item)
		if err != nil {
			return false, err
		}
		if look.Header.Version > 0 {
			l.o.Board.Put(look.Header)
			return look.Header.On(), nil
		}
		off := known.Header
		off.State = queue.Off
		off.Version++
		l.o.Board.Put(off)
		l.forget(item)
		return false, nil
	}
	return l.putBack(ctx, item, known)
}

// putBack gives the store a queue as this node knows it, and reports whether it is on now.
func (l *Line) putBack(ctx context.Context, item queue.Item, known queue.Known) (bool, error) {
	got, err := l.o.Line.Switch(ctx, item, queue.SwitchOrder{
		Action: queue.Restore, Limits: l.o.Limits(item), Cause: known.Header.Cause, By: known.Header.By, Known: known,
	})
	if err != nil {
		return false, err
	}
	l.o.Board.Put(got.Header)
	if got.Changed && l.o.Restored != nil {
		l.o.Restored(got.Header)
	}
	return got.Header.On(), nil
}

// RestoreAll puts back every queue that this node knows to be on. An item's error does not stop the others; all are
// returned.
func (l *Line) RestoreAll(ctx context.Context) error {
	var errs []error
	for _, h := range l.o.Board.All() {
		if h.On() {
			if _, err := l.Restore(ctx, h.Item); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// Known is what this node remembers of an item.
func (l *Line) Known(item queue.Item) queue.Known {
	l.mu.Lock()
	n := l.known[item]
	l.mu.Unlock()
	return queue.Known{
		Header: l.o.Board.Get(item), LastScore: n.last, Inside: n.inside, HoldMS: max(0, n.toldMS-l.o.Clock.Now().UnixMilli()),
	}
}

// Told notes that a visitor near the head was told to ask again no sooner than at an instant: after a loss nobody is
// let in before that, so that whoever has an older ticket has had the time to show it.
func (l *Line) Told(item queue.Item, untilMS int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, ok := l.known[item]
	if n.toldMS < untilMS && (ok || l.o.Board.Get(item).On()) { // a node that started without the store knows no numbers yet
		n.toldMS = untilMS
		l.known[item] = n
	}
}

func (l *Line) note(h queue.Header, last int64, c queue.Counts) {
	l.o.Board.Put(h)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !h.On() {
		delete(l.known, h.Item)
		return
	}
	n := l.known[h.Item]
	l.known[h.Item] = numbers{last: max(n.last, last), inside: c.Running + c.Reserved, toldMS: n.toldMS}
}

func (l *Line) forget(item queue.Item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, item)
}
