package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/admin"
	"github.com/sluicehq/sluice/admin/console"
	"github.com/sluicehq/sluice/admin/live"
	"github.com/sluicehq/sluice/detector"
	"github.com/sluicehq/sluice/gate"
	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/internal/config"
	"github.com/sluicehq/sluice/internal/itempattern"
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/internal/settings/redissettings"
	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/internal/telemetry"
	"github.com/sluicehq/sluice/internal/ticket"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/batch"
	"github.com/sluicehq/sluice/queue/heal"
	"github.com/sluicehq/sluice/scheduler"
)

// storePatience is how long one call of the store may take.
const storePatience = 500 * time.Millisecond

// Options says what node to put together. Config is required.
type Options struct {
	Config config.Serve
	Clock  clock.Clock  // the machine's clock; nil = the system's
	Log    *slog.Logger // nil = slog.Default()
	// Export sends traces, logs and metrics elsewhere, until the node stops; nil = nothing is sent.
	Export *telemetry.Export
}

// App is one node. New puts it together, Start starts it, Stop ends it.
type App struct {
	cfg   config.Serve
	log   *slog.Logger
	clock *clock.Store // the store's clock

	keys     *ticket.Keyring
	settings *settings.Holder
	board    *queue.Board
	store    store
	healed   *heal.Line
	asks     *batch.Asks
	beats    *batch.Beats
	counter  *detector.Counter
	flusher  *detector.Flusher
	share    *scheduler.Share
	mover    *scheduler.Mover
	cron     *scheduler.Cron
	fleet    *fleet
	probe    *probe
	metrics  *telemetry.Metrics
	export   *telemetry.Export
	traces   *telemetry.Tracer // nil = nothing is traced
	gate     *gate.Gate
	events   *admin.Events

	published   *redissettings.Store // nil without Redis
	sql         *sqlstore.Store      // nil without the admin role
	admin       *admin.Admin         // likewise
	readings    *live.Readings       // likewise
	console     *console.Console     // likewise
	aroundAdmin []gin.HandlerFunc    // likewise
	lock        *os.File             // of the data folder, without Redis

	passKeys  atomic.Pointer[[]int64] // by number, the one that signs first
	connector connector
	started   time.Time   // by this machine's clock
	dirty     atomic.Bool // there is something new for the queues' file
	looks     atomic.Int64
	skewed    atomic.Bool
	failing   sync.Map // items whose steps fail, so that the log says so once
	listeners listeners
	cancel    context.CancelFunc
	loops     sync.WaitGroup
	flushed   chan struct{} // closed when the flusher has flushed for the last time
}

// New puts a node together and opens what it needs: the data folder, the settings, and the database where it has the
// admin role. The error names the setting that is wrong.
func New(ctx context.Context, o Options) (*App, error) {
	a := &App{
		cfg: o.Config, log: o.Log, export: o.Export, traces: o.Export.Tracer(), clock: &clock.Store{Base: o.Clock},
		settings: &settings.Holder{}, board: &queue.Board{}, events: &admin.Events{}, flushed: make(chan struct{}),
	}
	a.started = a.clock.Now()
	if a.log == nil {
		a.log = slog.Default()
	}
	if err := a.build(ctx); err != nil {
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

func (a *App) build(ctx context.Context) error {
	if err := os.MkdirAll(a.cfg.DataDir, 0o700); err != nil {
		return fmt.Errorf("--data-dir: %w", err)
	}
	if a.cfg.RedisURL == "" {
		lock, err := lockDir(a.cfg.DataDir)
		if err != nil {
			return err
		}
		a.lock = lock
	}
	if err := a.openKeys(); err != nil {
		return err
	}
	fingerprint := a.keys.Fingerprint()
	if err := a.openStore(fingerprint); err != nil {
		return err
	}
	a.fleet = newFleet(a)
	if a.store.client != nil {
		if err := a.fleet.checkKey(ctx, fingerprint); err != nil {
			return err
		}
		a.published = redissettings.New(redissettings.Options{
			Client: a.store.client, Prefix: a.cfg.RedisPrefix, Holder: a.settings, Notify: a.store.changes.TellSettings, Log: a.log,
		})
	}
	a.assemble()
	if err := a.openMetrics(); err != nil {
		return err
	}
	if err := a.loadSettings(); err != nil {
		return err
	}
	if err := a.loadBoard(ctx); err != nil {
		return err
	}
	if a.cfg.Roles.Admin {
		a.aroundAdmin = a.around(a.metrics.Requests("admin"), false, true)
		if err := a.openAdmin(ctx); err != nil {
			return err
		}
	}
	if err := a.openGate(); err != nil {
		return err
	}
	return a.export.SendMetrics(ctx, a.metrics.Gatherer())
}

// assemble joins the parts that move the line.
func (a *App) assemble() {
	a.board.Changed = a.changed
	a.healed = heal.New(heal.Options{
		Line: a.store.line, Board: a.board, Clock: a.clock, Limits: a.limits, Lost: a.lost, Restored: a.restored, Released: a.released,
	})
	a.asks = batch.NewAsks(a.healed, storePatience)
	a.beats = batch.NewBeats(a.store.line)
	a.beats.Seen = a.seen
	a.beats.Life = func(item queue.Item) time.Duration {
		l := a.limits(item)
		return time.Duration(max(l.SessionMS+queue.PassLeewayMS, l.TicketLifeMS())) * time.Millisecond
	}
	a.beats.Told = a.passesEnded
	a.counter = detector.NewCounter()
	a.share = scheduler.NewShare(a.cfg.NodeID)
	a.flusher = detector.NewFlusher(detector.FlusherOptions{
		Counter: a.counter, Traffic: countedTraffic{mendingTraffic{a.store.traffic, a.healed}, a}, Limits: a.limits, Node: a.cfg.NodeID, Nodes: a.share.Nodes, Clock: a.clock,
		Up: a.storeUp, Seen: a.seen, Failed: func(err error) { a.log.Debug("traffic not counted", "err", err) },
	})
	a.mover = scheduler.NewMover(scheduler.MoverOptions{
		Line: tracedSteps{a.healed, a.traces}, Board: a.board, Limits: a.limits, Share: a.share, Clock: a.clock, Tick: a.cfg.MoverTick,
		Did: a.stepped, Failed: a.stepFailed,
	})
	a.probe = &probe{ping: a.ping, Down: a.storeDown, Up: a.storeCameUp}
}

// openMetrics makes what everything that happens is counted in.
func (a *App) openMetrics() error {
	var err error
	if a.metrics, err = telemetry.New(telemetry.Sources{
		StoreUp: a.storeUp, ClockSkew: a.clock.Skew, DroppedCounts: a.flusher.Dropped, DroppedBeats: a.beats.Dropped, Queues: a.board.On,
		SettingsVersion: func() int64 { return a.settings.Now().Version() }, DeadLetters: a.deadLetters(),
		Streams: func() int64 { return a.gate.Streams() }, Sales: a.salesDue, KeyEnds: a.keyEnds, DroppedSpans: a.export.Dropped, Unreplicated: a.unreplicated,
	}); err != nil {
		return err
	}
	if a.store.client != nil {
		a.store.client.AddHook(a.metrics.StoreHook(storeScripts(), a.traces))
	}
	return nil
}

func (a *App) openKeys() error {
	keys, err := a.cfg.SecretKey.OrIn(a.cfg.DataDir)
	if err != nil {
		return err
	}
	a.keys, err = Keyring(keys)
	return err
}

// loadSettings starts from the settings last seen, so that a node comes up while the store and the database are away.
func (a *App) loadSettings() error {
	last, ok, err := settings.LoadFile(a.cfg.DataDir)
	if err != nil {
		return err
	}
	if ok {
		a.settings.Put(last)
	}
	a.settings.OnChange(func(s *settings.Settings) {
		if err := settings.SaveFile(a.cfg.DataDir, s); err != nil {
			a.log.Error("settings not kept in the data folder", "err", err)
		}
		a.takeConnector(s)
		a.mover.WakeAll()
	})
	return nil
}

// loadBoard starts from the queues last known. A line in this process has lost them all: they are put back.
func (a *App) loadBoard(ctx context.Context) error {
	last, err := loadQueues(a.cfg.DataDir)
	if err != nil {
		return err
	}
	if last.Identity != "" {
		a.fleet.identity.Store(&last.Identity)
	}
	for _, h := range last.Queues {
		if a.store.client == nil && h.On() {
			got, err := a.store.line.Switch(ctx, h.Item, queue.SwitchOrder{
				Action: queue.Restore, Limits: a.limits(h.Item), Cause: h.Cause, By: h.By, Known: queue.Known{Header: h},
			})
			if err != nil {
				return fmt.Errorf("put back the queue of %s: %w", h.Item, err)
			}
			h = got.Header
		}
		a.board.Put(h)
	}
	return nil
}

func (a *App) openAdmin(ctx context.Context) error {
	system := "sqlite"
	if a.cfg.DatabaseURL != "" {
		system = "postgresql"
	}
	var err error
	if a.sql, err = sqlstore.Open(ctx, sqlstore.Options{
		URL: string(a.cfg.DatabaseURL), Dir: a.cfg.DataDir, AutoMigrate: a.cfg.AutoMigrate, Clock: a.clock.Base,
		Connect: a.export.OpenDB(system),
	}); err != nil {
		return err
	}
	o := admin.Options{
		Store: a.sql, Settings: a.settings, Keys: a.keys, Line: traced{telling{mending{a.store.line, a.healed}, a.endedByHand}, a.traces}, Board: a.board, Clock: a.clock,
		Events: a.events, Reserved: a.active, UserVisitor: a.keys.UserVisitor, FindRef: a.store.line.FindRef, Seen: a.seen,
		BootstrapToken: string(a.cfg.BootstrapAdminToken), URL: a.cfg.AdminURL, Proxies: a.cfg.TrustedProxies,
		WebhookNetworks: a.cfg.WebhookNetworks, WebhookTried: a.webhookTried, Log: a.log, Around: a.aroundAdmin,
	}
	if a.published != nil {
		o.Publisher, o.Settled = a.published, a.store.settled.Among
	}
	if o.SSO, err = signOn(a.cfg); err != nil {
		return err
	}
	if a.admin, err = admin.New(ctx, o); err != nil {
		return err
	}
	return a.openConsole()
}

func (a *App) openGate() error {
	patterns, err := itempattern.ParseAll(a.cfg.ItemPatterns)
	if err != nil {
		return fmt.Errorf("--item-pattern: %w", err)
	}
	streams := a.cfg.MaxStreams
	if streams == 0 {
		streams = gate.NoStreams
	}
	a.gate, err = gate.New(gate.Options{
		Line: traced{telling{mending{a.store.line, a.healed}, a.endedByVisitor}, a.traces}, Asks: tracedAsks{a.asks, a.traces}, Beats: a.beats, Board: a.board, Settings: a.settings,
		Counter: a.counter, Trips: a.flusher, Keys: a.keys, Clock: a.clock, Patterns: patterns,
		PublicURL: a.cfg.PublicURL.String(), CookieDomain: a.cfg.CookieDomain, PassCookie: a.cfg.PassCookie,
		TrustedProxies: a.cfg.TrustedProxies, MaxStreams: streams,
		Connector: a.connector.get, StoreUp: a.storeUp, Synced: a.synced, Ready: a.looked, Told: a.healed.Told, Recorder: recorder{a.metrics}, Log: a.log,
		Around: a.around(a.metrics.Requests("visitor", gate.Routes()...), true, false), Traces: a.traces,
	})
	if err == nil {
		a.takePassKeys()
	}
	return err
}

// limits are the numbers in force for an item.
func (a *App) limits(item queue.Item) queue.Limits {
	return a.settings.Now().LimitsAt(item, a.clock.Now().UnixMilli())
}

// recorder is the metrics as the gate calls them.
type recorder struct{ *telemetry.Metrics }

// Check counts one answer.
func (r recorder) Check(_ queue.Item, action gate.Action, reason gate.Reason) {
	r.Metrics.Check(string(action), string(reason))
}
