// Package redissettings publishes settings in Redis and follows them from there.
package redissettings

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/internal/settings"
)

//go:embed publish.lua
var publishSource string

var publish = redis.NewScript(publishSource)

// Options configures a Store. Client and Holder are required; the zero value of every other field is its default.
type Options struct {
	Client redis.UniversalClient
	Prefix string           // of the key; "" = "sluice:"
	Holder *settings.Holder // what this node knows
	// Notify tells the other nodes that there is something newer; nil = they find out by their polls.
	Notify func(context.Context) error
	Every  time.Duration // between two polls of Follow; 0 = 1 s
	Log    *slog.Logger  // nil = slog.Default()
}

// Store is the published copy. Safe for use by many goroutines.
type Store struct {
	o   Options
	key string
}

var _ settings.Publisher = (*Store)(nil)

// New makes a Store; it calls nothing.
func New(o Options) *Store {
	if o.Prefix == "" {
		o.Prefix = "sluice:"
	}
	if o.Every == 0 {
		o.Every = time.Second
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Store{o: o, key: o.Prefix + "settings"}
}

// Publish stores s where what is there is older, and then notifies the nodes. Newer settings of the same database stay,
// which is no error. Another database's stay too: settings.ErrOtherOwner. Repeating it is harmless.
func (s *Store) Publish(ctx context.Context, what *settings.Settings) error {
	body, err := what.Encode()
	if err != nil {
		return fmt.Errorf("publish settings: %w", err)
	}
	word, err := publish.Run(ctx, s.o.Client, []string{s.key}, what.Version(), what.Owner(), body).Text()
	if err != nil {
		return fmt.Errorf("publish settings: %w", err)
	}
	switch word {
	case "owner":
		return fmt.Errorf("%w (key %s): use that database, choose another --redis-prefix, or delete the key if its database is gone for good",
			settings.ErrOtherOwner, s.key)
	case "put":
		if s.o.Notify == nil {
			return nil
		}
		if err := s.o.Notify(ctx); err != nil { // the polls find it within a second
			s.o.Log.DebugContext(ctx, "settings notice not sent", "err", err)
		}
	}
	return nil
}

// Load gives the published settings; false where there are none.
func (s *Store) Load(ctx context.Context) (*settings.Settings, bool, error) {
	body, err := s.o.Client.HGet(ctx, s.key, "body").Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("load settings: %w", err)
	}
	got, err := settings.Decode(body)
	return got, err == nil, err
}

// Refresh compares the published settings with those of this node: newer ones are taken over, and where the store has
// none or older ones (it was wiped, or fell back) it gets this node's.
func (s *Store) Refresh(ctx context.Context) error {
	version, err := s.o.Client.HGet(ctx, s.key, "version").Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("look for settings: %w", err)
	}
	switch mine := s.o.Holder.Now(); {
	case version > mine.Version():
		got, ok, err := s.Load(ctx)
		if err != nil || !ok {
			return err
		}
		s.o.Holder.Put(got)
	case version < mine.Version():
		return s.Publish(ctx, mine)
	}
	return nil
}

// Follow refreshes each second until ctx ends. A fault is logged when it begins and when it is over.
func (s *Store) Follow(ctx context.Context) {
	tick := time.NewTicker(s.o.Every)
	defer tick.Stop()
	var failing bool
	for {
		err := s.Refresh(ctx)
		if ctx.Err() != nil {
			return
		}
		if failing != (err != nil) {
			failing = err != nil
			if failing {
				s.o.Log.WarnContext(ctx, "settings cannot be followed", "err", err)
			} else {
				s.o.Log.InfoContext(ctx, "settings are followed again")
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
