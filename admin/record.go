package admin

import (
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
)

// historyBacklog is how many events are kept while SQL is away.
const historyBacklog = 4096

// keepHistory writes what events mean for the history, and queues them for webhooks, until ctx ends and what was
// published before is written.
func (a *Admin) keepHistory(ctx context.Context) {
	judge := time.NewTicker(a.o.Every)
	defer judge.Stop()
	missed := missedSales{admin: a, since: a.o.Clock.Now()}
	for {
		select {
		case <-ctx.Done():
			for {
				select {
				case e, ok := <-a.history.C:
					if !ok || a.record(ctx, a.recordOf(ctx, e)) != nil {
						return
					}
				default:
					return
				}
			}
		case <-judge.C:
			if len(a.history.C) > 0 {
				continue // what is to be written may tell that a sale has opened
			}
			if err := missed.tell(ctx); err != nil && ctx.Err() == nil {
				a.log.DebugContext(ctx, "missed sales are looked for again", "err", err)
			}
		case e, ok := <-a.history.C:
			if !ok {
				if a.history = a.o.Events.subscribe(historyBacklog); a.history == nil {
					return // closed for good
				}
				a.log.WarnContext(ctx, "history fell behind: events were lost")
				continue
			}
			r := a.recordOf(ctx, e)
			for err := a.record(ctx, r); err != nil && ctx.Err() == nil; err = a.record(ctx, r) {
				a.log.DebugContext(ctx, "history waits for the database", "err", err)
				select {
				case <-ctx.Done():
				case <-time.After(a.o.Every):
				}
			}
		}
	}
}

// record is an event as it is written: the same at each try.
type record struct {
	event  Event
	letter sqlstore.Letter // without a message = none
}

// recordOf makes the record of an event. What one that was heard of by its header alone leaves out, the line still knows:
// what the detector saw, and the books and the story of a generation that has ended.
func (a *Admin) recordOf(ctx context.Context, e Event) record {
	released := e.Type == QueueReleased && e.Ended == nil
	activated := e.Type == QueueActivated && e.Header.Cause == queue.ByDetector
	if released || activated {
		s, err := a.look(context.WithoutCancel(ctx), e.Item)
		switch same := err == nil && s.Header.Generation == e.Header.Generation; {
		case same && activated:
			e.Trip = s.Story.Trip
		case same && !s.Header.On():
			e.Ended = &queue.Ended{Counts: s.Counts, Story: s.Story}
		}
	}
	r := record{event: e}
	if e.Type == PolicyChanged || e.Type == SaleMissed {
		return r // queued with the change itself
	}
	var err error
	if r.letter, err = letter(a.o.Settings.Now().Owner(), e); err != nil {
		a.log.ErrorContext(ctx, "event cannot be told", "type", e.Type, "err", err)
	}
	return r
}

// record writes what an event means. The end of the process does not cut it off.
func (a *Admin) record(ctx context.Context, r record) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_, err := a.o.Store.Change(ctx, func(tx *sqlstore.Tx) error {
		var noted, queued error
		switch e := r.event; {
		case e.Header == nil:
		case e.Type == QueueActivated:
			noted = tx.Activated(*e.Header, e.Trip)
		case e.Type == QueueReleased:
			noted = tx.Released(*e.Header, e.Time, e.Reason, e.Ended)
		}
		if mark, ok := settledBy(r.event); ok {
			_, err := tx.SettleSale(mark.id, mark.opensMS)
			noted = errors.Join(noted, err)
		}
		if r.letter.Message != "" {
			queued = tx.Queue(r.letter)
		}
		return errors.Join(noted, queued)
	})
	if err == nil {
		a.deliverer.Wake()
	}
	return err
}
