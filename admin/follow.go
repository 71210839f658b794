package admin

import (
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/internal/sqlstore"
)

const (
	historyBacklog = 4096 // events kept while SQL is away
	auditBacklog   = 1000 // audit entries kept while SQL is away
)

// Follow keeps this node in step until ctx ends: each second it takes over what other processes wrote to the database
// (other admin nodes, sluice token), repairs the published copy, writes the history, and the audit that is late.
func (a *Admin) Follow(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.keepHistory(ctx)
	}()
	tick := time.NewTicker(a.o.Every)
	defer tick.Stop()
	failing := false
	for {
		err := a.Refresh(ctx)
		if ctx.Err() == nil && failing != (err != nil) {
			failing = err != nil
			if failing {
				a.log.WarnContext(ctx, "settings database cannot be followed", "err", err)
			} else {
				a.log.InfoContext(ctx, "settings database is followed again")
			}
		}
		select {
		case <-ctx.Done():
			<-done
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			if err := a.flush(last); err != nil {
				a.log.WarnContext(last, "audit lost at the end", "err", err)
			}
			return
		case <-tick.C:
		}
	}
}

// Refresh is one turn of Follow.
func (a *Admin) Refresh(ctx context.Context) error {
	a.follow.Lock()
	defer a.follow.Unlock()
	version, err := a.o.Store.Version(ctx)
	if err == nil && version > min(a.tokensVersion.Load(), a.o.Settings.Now().Version()) {
		now, readErr := a.o.Store.Settings(ctx)
		if err = errors.Join(readErr, a.loadTokens(ctx)); err == nil && now.Version() > a.o.Settings.Now().Version() {
			_ = a.inForce(ctx, now) // logged there; the store's follower publishes it later
		}
	}
	return errors.Join(err, a.flush(ctx))
}

// flush writes last uses of tokens, and the audit that is late.
func (a *Admin) flush(ctx context.Context) error {
	a.mu.Lock()
	used, late := a.used, a.late
	a.used, a.late = map[string]time.Time{}, nil
	a.mu.Unlock()
	var err error
	if len(used) > 0 {
		err = a.o.Store.NoteUses(ctx, used) // not worth keeping where it fails: the next use notes more
	}
	for i, e := range late {
		if auditErr := a.o.Store.Audit(ctx, e); auditErr != nil {
			a.mu.Lock()
			a.late = append(late[i:], a.late...)
			a.mu.Unlock()
			return errors.Join(err, auditErr)
		}
	}
	return err
}

// keepHistory writes one row for each generation of a queue, from the events, until ctx ends and what was published
// before is written.
func (a *Admin) keepHistory(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			for {
				select {
				case e, ok := <-a.history.C:
					if !ok || a.record(ctx, e) != nil {
						return
					}
				default:
					return
				}
			}
		case e, ok := <-a.history.C:
			if !ok {
				if a.history = a.o.Events.subscribe(historyBacklog); a.history == nil {
					return // closed for good
				}
				a.log.WarnContext(ctx, "history fell behind: events were lost")
				continue
			}
			for err := a.record(ctx, e); err != nil && ctx.Err() == nil; err = a.record(ctx, e) {
				a.log.DebugContext(ctx, "history waits for the database", "err", err)
				select {
				case <-ctx.Done():
				case <-time.After(a.o.Every):
				}
			}
		}
	}
}

// record writes what an event means for the history. The end of the process does not cut it off.
func (a *Admin) record(ctx context.Context, e Event) error {
	if e.Header == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	switch e.Type {
	case QueueActivated:
		return a.o.Store.Activated(ctx, *e.Header)
	case QueueReleased:
		return a.o.Store.Released(ctx, *e.Header, e.Time, e.Reason, e.Counts)
	}
	return nil
}

// audit notes an action that has happened in the line. It never fails the action: what SQL does not take now is kept
// and written later.
func (a *Admin) audit(ctx context.Context, e sqlstore.AuditEntry) {
	if err := a.o.Store.Audit(context.WithoutCancel(ctx), e); err != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		if len(a.late) >= auditBacklog {
			a.log.ErrorContext(ctx, "audit entry lost", "action", e.Action, "subject", e.Subject, "who", e.Who, "err", err)
			return
		}
		a.late = append(a.late, e)
	}
}
