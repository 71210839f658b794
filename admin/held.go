package admin

import (
	"context"
	"errors"

	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/internal/sqlstore"
)

// held is what this node keeps of the database in memory beside the settings, so that who is known stays known, and
// item actions work, while SQL is away.

// sessions are those who are signed in, as of one version of the database.
type sessions struct {
	version int64
	byHash  map[settings.Hash]sqlstore.Session
}

// loadTokens reads all tokens into memory.
func (a *Admin) loadTokens(ctx context.Context) error {
	versions, err := a.o.Store.Versions(ctx)
	if err != nil {
		return err
	}
	all, err := a.o.Store.Tokens(ctx)
	if err != nil {
		return err
	}
	byHash := make(map[settings.Hash]sqlstore.Token, len(all))
	for _, t := range all {
		byHash[t.Hash] = t
	}
	a.tokens.Store(&byHash)
	a.tokensVersion.Store(versions.Settings) // read before the tokens: at worst they are read once more
	return nil
}

// loadSessions reads who is signed in. One at a time: catchUp holds a lock, and New is alone.
func (a *Admin) loadSessions(ctx context.Context) error {
	people, err := a.o.Store.People(ctx)
	if err != nil {
		return err
	}
	s := sessions{version: people.Version, byHash: make(map[settings.Hash]sqlstore.Session, len(people.Sessions))}
	for _, one := range people.Sessions {
		s.byHash[one.Hash] = one
	}
	a.sessions.Store(&s)
	return nil
}

// catchUp takes over what was written to the database since, by this node or another process.
func (a *Admin) catchUp(ctx context.Context) error {
	a.follow.Lock()
	defer a.follow.Unlock()
	versions, err := a.o.Store.Versions(ctx)
	if err != nil {
		return err
	}
	if versions.People != a.sessions.Load().version {
		err = a.loadSessions(ctx)
	}
	if versions.Settings > min(a.tokensVersion.Load(), a.o.Settings.Now().Version()) {
		now, readErr := a.o.Store.Settings(ctx)
		if err = errors.Join(err, readErr, a.loadTokens(ctx)); readErr == nil && now.Version() > a.o.Settings.Now().Version() {
			_ = a.inForce(ctx, now) // logged there; the store's follower publishes it later
		}
	}
	return err
}

// written takes over what a change of this node has written. It stands whatever happens here: the follower tries again.
func (a *Admin) written(ctx context.Context) {
	if err := a.catchUp(context.WithoutCancel(ctx)); err != nil {
		a.log.WarnContext(ctx, "a change is written but not in memory yet", "err", err)
	}
}
