package webhook

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/internal/sqlstore"
)

const (
	// slotsEach is how many messages of one webhook this node sends at once, so that a slow receiver delays no other.
	slotsEach = 4
	// lease is how long a message is kept from the other nodes: well over the longest try, and the difference of clocks.
	lease = time.Minute
	// How long messages that have ended can be looked at.
	keepDelivered, keepDead = 7 * 24 * time.Hour, 30 * 24 * time.Hour

	countEvery = 15 * time.Second
	dropEvery  = time.Hour
)

// Queue is where messages wait; sqlstore.Store is one.
type Queue interface {
	DueWebhooks(ctx context.Context) ([]sqlstore.Webhook, error)
	ClaimDeliveries(ctx context.Context, webhook string, most int, lease time.Duration) ([]sqlstore.Delivery, error)
	Tried(ctx context.Context, d sqlstore.Delivery, counts bool) error
	Change(ctx context.Context, f func(*sqlstore.Tx) error) (*settings.Settings, error)
	DeadLetters(ctx context.Context) (int64, error)
	DropDeliveries(ctx context.Context, delivered, dead time.Time) error
}

// Secrets opens the secrets that are kept sealed.
type Secrets interface {
	OpenText(purpose, sealed string) (string, bool)
}

// SecretPurpose is what the secrets of webhooks are sealed for.
const SecretPurpose = "webhook secret"

// Options configures a Deliverer. Queue, Secrets and Sender are required.
type Options struct {
	Queue   Queue
	Secrets Secrets
	Sender  *Sender
	Clock   clock.Clock   // nil = clock.System
	Every   time.Duration // between two looks for what is due; 0 = 1 s
	Tried   func(Result)  // called after each try; nil = nobody wants to know
	Log     *slog.Logger  // nil = slog.Default()
}

// Deliverer sends what is due, as one of any number of nodes.
type Deliverer struct {
	o    Options
	wake chan struct{}
	dead atomic.Int64

	mu   sync.Mutex
	busy map[string]int // webhook -> messages that this node is sending
	out  sync.WaitGroup
}

// NewDeliverer makes one; Run has it send.
func NewDeliverer(o Options) *Deliverer {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Every == 0 {
		o.Every = time.Second
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Deliverer{o: o, wake: make(chan struct{}, 1), busy: map[string]int{}}
}

// DeadLetters is how many messages were given up, on all nodes, as last counted.
func (d *Deliverer) DeadLetters() int64 { return d.dead.Load() }

// Wake has it look at once: something was queued.
func (d *Deliverer) Wake() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Run sends until ctx ends. What is being sent then is interrupted and left to the other nodes, or to the next start.
func (d *Deliverer) Run(ctx context.Context) {
	tick := time.NewTicker(d.o.Every)
	defer tick.Stop()
	var counted, dropped time.Time
	for ctx.Err() == nil {
		if err := d.round(ctx); err != nil && ctx.Err() == nil {
			d.o.Log.DebugContext(ctx, "webhooks wait for the database", "err", err)
		}
		if now := time.Now(); now.Sub(counted) >= countEvery {
			counted = now
			d.count(ctx)
		}
		if now := time.Now(); now.Sub(dropped) >= dropEvery {
			dropped = now
			at := d.o.Clock.Now()
			if err := d.o.Queue.DropDeliveries(ctx, at.Add(-keepDelivered), at.Add(-keepDead)); err != nil {
				d.o.Log.DebugContext(ctx, "old messages stay for now", "err", err)
			}
		}
		select {
		case <-ctx.Done():
		case <-d.wake:
		case <-tick.C:
		}
	}
	d.out.Wait()
	d.o.Sender.Close()
}

func (d *Deliverer) count(ctx context.Context) {
	if n, err := d.o.Queue.DeadLetters(ctx); err == nil {
		d.dead.Store(n)
	}
}

// round claims what is due, as far as there are slots, and begins to send it.
func (d *Deliverer) round(ctx context.Context) error {
	due, err := d.o.Queue.DueWebhooks(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, w := range due {
		free := d.free(w.ID)
		if free == 0 {
			continue // one that ends wakes the next round
		}
		claimed, err := d.o.Queue.ClaimDeliveries(ctx, w.ID, free, lease)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, one := range claimed {
			d.take(w.ID)
			d.out.Go(func() {
				d.try(ctx, w, one)
				d.give(w.ID)
				d.Wake()
			})
		}
	}
	return errors.Join(errs...)
}

func (d *Deliverer) free(id string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slotsEach - d.busy[id]
}

func (d *Deliverer) take(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.busy[id]++
}

func (d *Deliverer) give(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy[id]--; d.busy[id] == 0 {
		delete(d.busy, id)
	}
}

// try makes one try of a message and notes what came of it.
func (d *Deliverer) try(ctx context.Context, w sqlstore.Webhook, m sqlstore.Delivery) {
	secrets, err := d.secrets(w)
	var r Result
	if err != nil {
		r.Error = err.Error()
	} else {
		r = d.o.Sender.Send(ctx, w.URL, m.Message, m.Body, secrets)
		if d.o.Tried != nil {
			d.o.Tried(r)
		}
	}
	if !r.Taken() && ctx.Err() != nil {
		m.DueAt = d.o.Clock.Now()
		d.note(ctx, m, false)
		return
	}
	m.State, m.Status, m.Error = sqlstore.Delivered, r.Status, r.Error
	if !r.Taken() {
		m.State, m.DueAt = d.next(m, r)
	}
	if m.State == sqlstore.Dead {
		d.o.Log.WarnContext(ctx, "webhook message given up", "webhook", w.ID, "message", m.Message, "type", m.Type, "tries", m.Tries+1, "why", m.Error)
	}
	d.note(ctx, m, true)
	if r.Gone() {
		d.disable(ctx, w, r)
	}
	if m.State == sqlstore.Dead || r.Gone() {
		d.count(context.WithoutCancel(ctx))
	}
}

// next says when a message that was not taken is tried again, and whether at all.
func (d *Deliverer) next(m sqlstore.Delivery, r Result) (state string, due time.Time) {
	due = d.o.Clock.Now().Add(max(Wait(m.Tries+1), r.After))
	if r.Gone() || due.After(m.Until) {
		return sqlstore.Dead, due
	}
	return sqlstore.Pending, due
}

// note writes what came of a try. The end of the process does not cut it off; a database that is away for longer than
// the lease has the message sent once more.
func (d *Deliverer) note(ctx context.Context, m sqlstore.Delivery, counts bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease/2)
	defer cancel()
	for {
		err := d.o.Queue.Tried(ctx, m, counts)
		if err == nil {
			return
		}
		d.o.Log.DebugContext(ctx, "the outcome of a try waits for the database", "err", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(d.o.Every):
		}
	}
}

// disable ends a webhook whose receiver is gone for good.
func (d *Deliverer) disable(ctx context.Context, w sqlstore.Webhook, r Result) {
	d.o.Log.WarnContext(ctx, "webhook disabled: its receiver is gone", "webhook", w.ID)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	_, err := d.o.Queue.Change(ctx, func(tx *sqlstore.Tx) error {
		return errors.Join(tx.DisableWebhook(w.ID, r.Error), tx.Audit(sqlstore.AuditEntry{
			Who: "sluice", Via: "itself", Role: sqlstore.Admin, Action: "webhook.disable", Subject: w.ID, Reason: r.Error,
		}))
	})
	if err != nil {
		d.o.Log.WarnContext(ctx, "webhook not disabled: the next try does", "err", err)
	}
}

var errSealed = errors.New("its secret was sealed with another --secret-key: rotate it")

// secrets opens those that sign at this moment, the newest first.
func (d *Deliverer) secrets(w sqlstore.Webhook) ([]string, error) {
	return OpenSecrets(d.o.Secrets, w, d.o.Clock.Now())
}

// OpenSecrets opens the secrets of a webhook that sign at an instant, the newest first.
func OpenSecrets(s Secrets, w sqlstore.Webhook, now time.Time) ([]string, error) {
	newest, ok := s.OpenText(SecretPurpose, w.Secret)
	if !ok {
		return nil, errSealed
	}
	secrets := []string{newest}
	if w.OldSecret != "" && now.Before(w.OldUntil) {
		if old, ok := s.OpenText(SecretPurpose, w.OldSecret); ok {
			secrets = append(secrets, old)
		}
	}
	return secrets, nil
}
