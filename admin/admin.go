// Package admin is the admin API: policies, the live view of items and what operators do to them, tokens, history.
//
// Settings are written to SQL first, then held in this node's memory, then published in the store; a follower on each
// node repairs what did not get through. Actions on items go to the line itself and need no SQL.
// One file holds one resource; routes.go shows all addresses and roles on one screen.
package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/admin/webhook"
	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/internal/proxies"
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/internal/ticket"
	"github.com/sluicehq/sluice/queue"
)

// Line is what the admin API calls of the line; redisline.Line and memline.Line have it.
type Line interface {
	Switch(ctx context.Context, item queue.Item, o queue.SwitchOrder) (queue.SwitchReport, error)
	Look(ctx context.Context, item queue.Item) (queue.Snapshot, error)
	Find(ctx context.Context, item queue.Item, v queue.Visitor) (queue.Standing, error)
	End(ctx context.Context, item queue.Item, e queue.Ending) (queue.EndReport, error)
}

// Options configures an Admin. Store, Settings, Keys, Line and Board are required; the zero value of every other field
// is its default.
type Options struct {
	Store     *sqlstore.Store
	Settings  *settings.Holder
	Keys      *ticket.Keyring
	Publisher settings.Publisher // nil = this node is the only one
	Line      Line
	Board     *queue.Board
	Clock     clock.Clock   // nil = clock.System
	Every     time.Duration // between two looks at the database for what other processes wrote; 0 = 500 ms
	Heartbeat time.Duration // between two signs of life of an event stream, at which it also ends for who may not listen any more; 0 = 15 s
	Events    *Events       // nil = its own
	// Reserved gives the active users of an item at this moment: who is inside when its queue turns on. nil = nobody.
	Reserved func(context.Context, queue.Item) int64
	// UserVisitor gives the visitor that a server's user id stands for. nil = ?user= is not available.
	UserVisitor func(user string) queue.Visitor
	// FindRef finds the visitor that the short reference of a waiting page stands for. nil = ?ref= is not available.
	FindRef func(ctx context.Context, item queue.Item, ref string) (v queue.Visitor, found bool, err error)
	// Settled tells of times of sales, named as sale.Mark does, whether the line's nodes have seen them open or be turned
	// off. nil = this node sees all.
	Settled func(ctx context.Context, marks []string) ([]bool, error)
	// Seen is told each header that the line answers with.
	Seen           func(queue.Header)
	BootstrapToken string          // an admin for automation; "" = none
	URL            *url.URL        // what operators' browsers see; nil = http://localhost:8081
	Proxies        proxies.Trusted // whose X-Forwarded-For is believed
	SSO            SSO             // single sign-on; the zero value is off
	// WebhookNetworks are those that webhooks may lead to beside public addresses.
	WebhookNetworks []netip.Prefix
	Log             *slog.Logger // nil = slog.Default()
	// WebhookTried is called after each try to send a message to a webhook; nil = nobody wants to know.
	WebhookTried func(webhook.Result)
	// Around run around each request, before anything else.
	Around []gin.HandlerFunc
}

// Admin is the admin API.
type Admin struct {
	o             Options
	log           *slog.Logger
	handler       http.Handler
	origins       *http.CrossOriginProtection
	tokens        atomic.Pointer[map[settings.Hash]sqlstore.Token]
	sessions      atomic.Pointer[sessions]
	logins        logins
	history       *subscription
	tokensVersion atomic.Int64 // of the settings that tokens belong to
	streams       atomic.Int64
	targets       *webhook.Targets
	sender        *webhook.Sender
	deliverer     *webhook.Deliverer

	mu   sync.Mutex
	used map[string]time.Time  // token id -> last use, not written yet
	late []sqlstore.AuditEntry // audit of item actions that SQL did not take yet

	follow sync.Mutex // one taking over of settings at a time
}

// New makes an Admin and brings the database's settings into force: on this node, and in the store where it answers.
// An error where the store holds the settings of another database.
func New(ctx context.Context, o Options) (*Admin, error) {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Every == 0 {
		o.Every = 500 * time.Millisecond
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = 15 * time.Second
	}
	if o.Events == nil {
		o.Events = new(Events)
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Seen == nil {
		o.Seen = func(queue.Header) {}
	}
	if o.URL == nil {
		o.URL = &url.URL{Scheme: "http", Host: "localhost:8081"}
	}
	a := &Admin{o: o, log: o.Log, used: map[string]time.Time{}, origins: http.NewCrossOriginProtection(), logins: newLogins()}
	if err := a.origins.AddTrustedOrigin(o.URL.Scheme + "://" + o.URL.Host); err != nil {
		return nil, fmt.Errorf("--admin-url: %w", err)
	}
	a.targets = webhook.NewTargets(o.WebhookNetworks)
	a.sender = webhook.NewSender(a.targets, o.Clock, "Sluice-Webhooks")
	a.deliverer = webhook.NewDeliverer(webhook.Options{Queue: o.Store, Secrets: o.Keys, Sender: a.sender, Clock: o.Clock, Every: o.Every, Tried: o.WebhookTried, Log: o.Log})
	a.history = o.Events.subscribe(historyBacklog)
	a.handler = a.routes()
	if err := a.start(ctx); err != nil {
		return nil, err
	}
	return a, nil
}

// Handler serves the admin API.
func (a *Admin) Handler() http.Handler { return a.handler }

// start brings what the database says into force. The database wins over a newer copy of its own in the store or in
// the data folder: it was put back from a backup.
func (a *Admin) start(ctx context.Context) error {
	newest := a.o.Settings.Now().Version()
	if a.o.Publisher != nil {
		there, ok, err := a.o.Publisher.Load(ctx)
		switch {
		case err != nil:
			a.log.WarnContext(ctx, "published settings cannot be read; starting from the database", "err", err)
		case ok:
			newest = max(newest, there.Version())
		}
	}
	// Read after the copy: whoever publishes has committed before, so a copy that is newer now comes from no writer.
	now, err := a.o.Store.Settings(ctx)
	if err != nil {
		return err
	}
	if held := a.o.Settings.Now(); newest > now.Version() || held.Version() == now.Version() && held.Owner() != now.Owner() {
		if err := a.checkOwner(ctx, now); err != nil {
			return err
		}
		if now, err = a.o.Store.RaiseVersion(ctx, newest); err != nil {
			return err
		}
	}
	if err := errors.Join(a.loadTokens(ctx), a.loadSessions(ctx)); err != nil {
		return err
	}
	err = a.inForce(ctx, now)
	if errors.Is(err, settings.ErrOtherOwner) {
		return err
	}
	return nil // the follower publishes it later
}

// checkOwner refuses a store that holds another database's settings, before anything is written for its sake.
func (a *Admin) checkOwner(ctx context.Context, s *settings.Settings) error {
	if a.o.Publisher == nil {
		return nil
	}
	if err := a.o.Publisher.Publish(ctx, s); errors.Is(err, settings.ErrOtherOwner) {
		return err
	}
	return nil
}

// inForce holds settings on this node and publishes them. An error of the store has been logged.
func (a *Admin) inForce(ctx context.Context, s *settings.Settings) error {
	if err := s.Broken(); err != nil && s.Version() > a.o.Settings.Now().Version() {
		a.log.ErrorContext(ctx, "settings that cannot be read are not in force; write or delete them", "version", s.Version(), "err", err)
	}
	a.o.Settings.Put(s)
	if a.o.Publisher == nil {
		return nil
	}
	// Not bound to the caller: who hangs up after the commit must not keep the change from the other nodes.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := a.o.Publisher.Publish(ctx, s); err != nil {
		a.log.WarnContext(ctx, "settings are written but not published yet", "version", s.Version(), "err", err)
		return fmt.Errorf("publish settings: %w", err)
	}
	return nil
}

// change writes settings, brings them into force, and gives them (nil where f changed none). What the store does not take is published later.
func (a *Admin) change(ctx context.Context, f func(*sqlstore.Tx) error) (*settings.Settings, error) {
	after, err := a.o.Store.Change(ctx, f)
	if err != nil {
		return nil, err
	}
	if after != nil && after.Version() > a.o.Settings.Now().Version() {
		_ = a.inForce(ctx, after) // logged there
	}
	return after, nil
}
