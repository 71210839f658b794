package admin

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
)

const (
	// Kept is how long activations and audit entries are kept: a year's sale is compared with the one before.
	Kept = 400 * 24 * time.Hour
	// tidyEvery is how often what is older is dropped.
	tidyEvery = time.Hour
	// missedAfter is how old an activation is before its release may have been missed.
	missedAfter = time.Minute
)

// keepTidy drops what is too old, and ends in the history what ended unseen: once this node has seen the store, and then
// each hour until ctx ends. Several nodes may do so.
func (a *Admin) keepTidy(ctx context.Context) {
	due := time.NewTimer(missedAfter)
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-due.C:
		}
		if err := a.tidy(ctx); err != nil && ctx.Err() == nil {
			a.log.WarnContext(ctx, "the history cannot be tidied; another try in an hour", "err", err)
		}
		due.Reset(tidyEvery)
	}
}

func (a *Admin) tidy(ctx context.Context) error {
	for more := true; more && ctx.Err() == nil; {
		var err error
		if more, err = a.o.Store.Forget(ctx, a.o.Clock.Now().Add(-Kept)); err != nil {
			return err
		}
	}
	return a.endMissed(ctx)
}

// endMissed writes the end of activations whose release nobody told: no admin node was there. The line knows the end for
// some minutes; after that it is known only that it is over.
func (a *Admin) endMissed(ctx context.Context) error {
	f := sqlstore.HistoryFilter{On: true, To: a.o.Clock.Now().Add(-missedAfter), Most: page}
	for {
		rows, err := a.o.Store.Activations(ctx, f)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, r := range rows {
			if err := a.endIfOver(ctx, r); err != nil {
				return err
			}
		}
		f.Before = rows[len(rows)-1].ID
	}
}

func (a *Admin) endIfOver(ctx context.Context, r sqlstore.Activation) error {
	s, err := a.look(ctx, r.Item)
	known := a.o.Board.Get(r.Item)
	if err != nil || known.On() && known.Generation == r.Generation {
		return err // on, whatever a store says that may have lost it
	}
	same := s.Header.Generation == r.Generation
	if same && s.Header.On() {
		return nil
	}
	var ended *queue.Ended
	if same {
		ended = &queue.Ended{Counts: s.Counts, Story: s.Story}
	}
	h := queue.Header{
		Item: r.Item, Generation: r.Generation, Cause: r.Cause, By: r.By, Grace: r.Grace, ActivatedMS: r.ActivatedAt.UnixMilli(),
	}
	_, err = a.o.Store.Change(ctx, func(tx *sqlstore.Tx) error {
		return tx.Released(h, a.o.Clock.Now(), "unseen", ended)
	})
	return err
}
