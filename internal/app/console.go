package app

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/sluicehq/sluice/admin/console"
	"github.com/sluicehq/sluice/admin/live"
	"github.com/sluicehq/sluice/gate/page"
	"github.com/sluicehq/sluice/queue"
)

// mostRising bounds the items with rising traffic that a node tells of.
const mostRising = 100

// openConsole puts the web console before the admin API.
func (a *App) openConsole() error {
	a.readings = live.New(live.Options{
		Line: a.store.line, Board: a.board, Rising: a.rising, Clock: a.clock.Base,
		Failed: func(err error) { a.log.Debug("an item could not be read for the console", "err", err) },
	})
	pages, err := page.New()
	if err != nil {
		return err
	}
	a.console, err = console.New(console.Options{
		Admin: a.admin, Readings: a.readings, Settings: a.settings, Line: a.store.line, Store: a.sql,
		PublicURL: a.cfg.PublicURL.String(), StoreUp: a.storeUp, Clock: clockOf(a.clock), Log: a.log, Around: a.aroundAdmin,
		PageStates: page.States(),
		WritePage: func(w io.Writer, s console.Sample) (string, error) {
			d := pages.Sample(s.Look, s.State, s.Lang, s.Now)
			d.Nonce, d.Scheme = s.Nonce, s.Scheme
			return d.Policy(), pages.Write(w, d)
		},
	})
	return err
}

// adminHandler serves the admin listener: the API below its path, the console everywhere else.
func (a *App) adminHandler() http.Handler {
	api, pages := a.admin.Handler(), a.console.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/admin/api/") {
			api.ServeHTTP(w, r)
			return
		}
		pages.ServeHTTP(w, r)
	})
}

// tellRising tells the admin nodes of items whose traffic comes near a trigger.
func (a *App) tellRising(ctx context.Context) {
	now := a.clock.Now().UnixMilli()
	if items := a.counter.Rising(mostRising, now); len(items) > 0 && a.storeUp() {
		if err := a.store.rising.Tell(ctx, items, now); err != nil {
			a.log.Debug("rising traffic not told", "err", err)
		}
	}
}

// rising lists what this node and all others know of rising traffic.
func (a *App) rising(ctx context.Context) ([]queue.Item, error) {
	now := a.clock.Now().UnixMilli()
	own := a.counter.Rising(mostRising, now)
	if a.store.client == nil || !a.storeUp() {
		return own, nil
	}
	others, err := a.store.rising.All(ctx, now)
	return append(own, others...), err
}
