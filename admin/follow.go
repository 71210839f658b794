package admin

import (
	"context"
	"errors"
	"time"
)

// Follow keeps this node in step until ctx ends: each second it takes over what other processes wrote to the database
// (other admin nodes, sluice token), repairs the published copy, writes the history, and the audit that is late.
func (a *Admin) Follow(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.keepHistory(ctx)
	}()
	go a.keepTidy(ctx)
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
	return errors.Join(a.catchUp(ctx), a.flush(ctx))
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
