package sqlstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/internal/postgrestest"
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/queue"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Ending{M: m}.Run()) }

// onBoth runs a test on a new SQLite database and on a new Postgres database.
func onBoth(t *testing.T, test func(t *testing.T, o Options)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, Options{Dir: t.TempDir()})
	})
	t.Run("Postgres", func(t *testing.T) {
		t.Parallel()
		test(t, Options{URL: postgrestest.Shared(t)})
	})
}

func newStore(t *testing.T, o Options, c clock.Clock) *Store {
	t.Helper()
	o.AutoMigrate, o.Clock = true, c
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestOpen(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		if _, err := Open(t.Context(), o); !errors.Is(err, ErrSchemaBehind) || !strings.Contains(err.Error(), "sluice migrate up") {
			t.Fatalf("a schema that is behind: %v", err)
		}
		s := newStore(t, o, nil)
		first, err := s.Settings(t.Context())
		if err != nil || first.Version() == 0 || first.Owner() == "" || first.Switch() != settings.Normal {
			t.Fatalf("a new database: %+v %v", first, err)
		}
		if p, ok := first.Policy("*"); !ok || p.TriggerRequests != 500 {
			t.Errorf("the policy * does not exist: %+v", p)
		}
		again, err := newStore(t, o, nil).Settings(t.Context())
		if err != nil || again.Owner() != first.Owner() || again.Version() != first.Version() {
			t.Errorf("opened again: %v %v", again, err)
		}
		if other, _ := newStore(t, Options{Dir: t.TempDir()}, nil).Settings(t.Context()); other.Owner() == first.Owner() {
			t.Error("two databases have one name")
		}
	})
}

func TestOpenInAnOddFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made of? 100% odd#characters")
	newStore(t, Options{Dir: dir}, nil)
	if info, err := os.Stat(filepath.Join(dir, FileName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the database: %v %v", info, err)
	}
}

func TestNoErrorShowsThePassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://u:hunter2@127.0.0.1:1/d?connect_timeout=1", "postgres://u:hunter2@[/d", "postgres://u:hunter2@h/d?sslmode=hunter2"} {
		_, err := Open(t.Context(), Options{URL: url})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		status := func(applied bool) {
			t.Helper()
			steps, err := MigrateStatus(t.Context(), o)
			if err != nil || len(steps) == 0 || steps[0].Applied != applied {
				t.Fatalf("status %+v %v", steps, err)
			}
		}
		status(false)
		for range 2 { // a second run changes nothing
			if _, err := MigrateUp(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			status(true)
		}
		for {
			n, err := MigrateDown(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				break
			}
		}
		status(false)
		if _, err := MigrateUp(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	})
}

func TestTwoProcessesMayMigrateAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.AutoMigrate = true
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				s, err := Open(t.Context(), o)
				if err != nil {
					t.Error(err)
					return
				}
				s.Close()
			})
		}
		wg.Wait()
	})
}

func TestChange(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		hand := clock.At(time.UnixMilli(1_796_000_000_000))
		s := newStore(t, o, hand)
		ctx := t.Context()
		version := func() int64 {
			v, err := s.Versions(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return v.Settings
		}
		start := version()
		if start != 1_796_000_000_000 {
			t.Errorf("a new database begins at %d", start)
		}
		hot := queue.DefaultPolicy()
		hot.InflowPerSecond = 0.00001 // B019
		after, err := s.Change(ctx, func(tx *Tx) error { return tx.PutPolicy("hot", hot) })
		if err != nil || after.Version() != start+1 || version() != start+1 {
			t.Fatalf("a change: %v, version %d", err, version())
		}
		if _, p := after.For("hot"); p.InflowPerSecond != 0.00001 {
			t.Errorf("policy %+v", p)
		}
		hand.Add(time.Hour)
		boom := errors.New("boom")
		if _, err := s.Change(ctx, func(tx *Tx) error { return errors.Join(tx.DeletePolicy("hot"), boom) }); !errors.Is(err, boom) || version() != start+1 {
			t.Errorf("a change that failed: %v, version %d", err, version())
		}
		if err := s.Audit(ctx, AuditEntry{Action: "x"}); err != nil || version() != start+1 {
			t.Errorf("audit alone: %v, version %d", err, version())
		}
		if after, err = s.Change(ctx, func(tx *Tx) error { return tx.SetSwitch(settings.Hold) }); err != nil || after.Switch() != settings.Hold || after.Version() != start+3_600_000 {
			t.Errorf("the switch: %v %d", err, after.Version())
		}
		if after, err = s.RaiseVersion(ctx, start+9_000_000); err != nil || after.Version() != start+9_000_001 {
			t.Errorf("raised: %v %d", err, after.Version())
		}
		if after, err = s.Change(ctx, func(tx *Tx) error { return tx.DeletePolicy("hot") }); err != nil {
			t.Fatal(err)
		}
		if _, ok := after.Policy("hot"); ok {
			t.Error("deleted, and still there")
		}
	})
}

func TestWritersOfTwoProcessesLineUp(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, b := newStore(t, o, nil), newStore(t, o, nil)
		var wg sync.WaitGroup
		for _, s := range []*Store{a, b, a, b} {
			wg.Go(func() {
				for range 10 {
					_, err := s.Change(t.Context(), func(tx *Tx) error {
						p, _, err := tx.Policy("*")
						p.TriggerRequests++
						return errors.Join(err, tx.PutPolicy("*", p))
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		got, err := a.Settings(t.Context())
		if p, _ := got.Policy("*"); err != nil || p.TriggerRequests != 540 {
			t.Errorf("an update was lost: %d %v", p.TriggerRequests, err)
		}
	})
}

func TestTokens(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		hand := clock.At(time.UnixMilli(1_796_000_000_000))
		s := newStore(t, o, hand)
		ctx := t.Context()
		var shop, ops Token
		var shopPlain, opsPlain string
		after, err := s.Change(ctx, func(tx *Tx) (err error) {
			if shop, shopPlain, err = tx.AddToken("shop", Service, time.Time{}); err != nil {
				return err
			}
			ops, opsPlain, err = tx.AddToken("ops", Operator, hand.Now().Add(time.Hour))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if name, ok := after.ServiceToken(shopPlain); !ok || name != "shop" {
			t.Errorf("the settings do not know the service token: %q", name)
		}
		if _, ok := after.ServiceToken(opsPlain); ok {
			t.Error("an operator's token is published as a service token")
		}
		for name, tc := range map[string]struct {
			name    string
			role    Role
			expires time.Time
		}{
			"no name":          {" ", Viewer, time.Time{}},
			"a long name":      {strings.Repeat("x", 101), Viewer, time.Time{}},
			"no such role":     {"x", "root", time.Time{}},
			"over at its time": {"x", Viewer, hand.Now()},
		} {
			if _, err := s.Change(ctx, func(tx *Tx) error { _, _, err := tx.AddToken(tc.name, tc.role, tc.expires); return err }); fault.Code(err) != "invalid_body" {
				t.Errorf("%s: %v", name, err)
			}
		}
		version, _ := s.Versions(ctx)
		if err := s.NoteUses(ctx, map[string]time.Time{ops.ID: hand.Now(), "no such": hand.Now()}); err != nil {
			t.Fatal(err)
		}
		all, err := s.Tokens(ctx)
		if err != nil || len(all) != 2 {
			t.Fatalf("listed %+v %v", all, err)
		}
		for _, got := range all {
			if used := got.ID == ops.ID; used != got.LastUsedAt.Equal(hand.Now()) || used && (got.Role != Operator || got.Hash != settings.HashToken(opsPlain)) {
				t.Errorf("listed %+v", got)
			}
		}
		if after, _ := s.Versions(ctx); after != version {
			t.Error("a use counts as a change of settings")
		}
		if ops.Expired(hand.Now()) || !ops.Expired(hand.Now().Add(time.Hour)) || shop.Expired(hand.Now().Add(1e6*time.Hour)) {
			t.Error("expiry")
		}
		after, err = s.Change(ctx, func(tx *Tx) error { _, err := tx.DeleteToken(shop.ID); return err })
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := after.ServiceToken(shopPlain); ok {
			t.Error("a deleted token is still published")
		}
		if _, err := s.Change(ctx, func(tx *Tx) error { _, err := tx.DeleteToken(shop.ID); return err }); !errors.Is(err, ErrNotFound) {
			t.Errorf("deleted twice: %v", err)
		}
	})
}

// invariant one-activation
func TestHistoryHasOneRowAGeneration(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		s := newStore(t, o, nil)
		ctx := t.Context()
		h := queue.Header{Item: "hot", Generation: 7, Cause: queue.ByDetector, By: "trigger_requests", Grace: true, ActivatedMS: 1000}
		for range 3 {
			if _, err := s.Change(ctx, func(tx *Tx) error { return tx.Activated(h, queue.Trip{Measure: 512.25, Trigger: 500}) }); err != nil {
				t.Fatal(err)
			}
		}
		ended := queue.Ended{Counts: queue.Counts{Joined: 5, Left: 5}, Story: queue.Story{PeakWaiting: 3, LongestMS: 900, Waits: queue.Waits{2}}}
		for i, c := range []*queue.Ended{nil, &ended, {Counts: queue.Counts{Joined: 9}}} {
			if _, err := s.Change(ctx, func(tx *Tx) error {
				return tx.Released(h, time.UnixMilli(int64(2000+i)), []string{"released", "other", "third"}[i], c)
			}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Change(ctx, func(tx *Tx) error {
			return tx.Released(queue.Header{Item: "cold", Generation: 1, ActivatedMS: 5000}, time.UnixMilli(6000), "drained", nil)
		}); err != nil {
			t.Fatal(err)
		}
		all, err := s.Activations(ctx, HistoryFilter{Most: 10})
		if err != nil || len(all) != 2 || all[0].Item != "cold" {
			t.Fatalf("history %+v %v", all, err)
		}
		a := all[1]
		if a.ReleasedAt.UnixMilli() != 2000 || a.Reason != "released" || a.Counts == nil || a.Counts.Joined != 5 || !a.Grace || a.By != "trigger_requests" {
			t.Errorf("row %+v", a)
		}
		if a.Trip == nil || a.Trip.Measure != 512.25 || a.Line == nil || a.Line.PeakWaiting != 3 || a.Line.LongestWaitMS != 900 || a.Line.MedianWaitMS == nil {
			t.Errorf("story %+v %+v", a.Trip, a.Line)
		}
		if cold := all[0]; cold.Trip != nil || cold.Line != nil || cold.Counts != nil {
			t.Errorf("what nobody knows is told: %+v", cold)
		}
		for _, f := range []HistoryFilter{{Item: "hot", Most: 10}, {To: time.UnixMilli(5000), Most: 10}, {Before: all[0].ID, Most: 10}} {
			if got, err := s.Activations(ctx, f); err != nil || len(got) != 1 || got[0].Item != "hot" {
				t.Errorf("%+v gives %+v %v", f, got, err)
			}
		}
	})
}

func TestALostDatabaseIsNamedWithoutItsMessage(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		s := newStore(t, o, nil)
		s.Close()
		_, err := s.Settings(context.Background())
		if fault.Code(err) != "settings_unavailable" {
			t.Errorf("got %v", err)
		}
		if _, err := s.Change(context.Background(), func(*Tx) error { return nil }); fault.Code(err) != "settings_unavailable" {
			t.Errorf("got %v", err)
		}
	})
}

// B059: a policy that nobody can read, or that is out of range, keeps nobody from the others, and can be written anew or
// deleted.
func TestAPolicyThatCannotBeReadIsTheOnlyOne(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		s := newStore(t, o, nil)
		change := func(f func(tx *Tx) error) *settings.Settings {
			t.Helper()
			after, err := s.Change(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			return after
		}
		got := change(func(tx *Tx) error {
			err := tx.PutPolicy("good", queue.DefaultPolicy())
			for pattern, body := range map[string]string{"*": `nothing`, "a": `{"inflow_per_second":NaN}`, "b": `{"inflow_per_second":-1}`} {
				err = errors.Join(err, tx.exec(`INSERT INTO policies (pattern, body, updated_ms) VALUES ($1, $2, 0)`, pattern, body))
			}
			return err
		})
		if _, ok := got.Policy("good"); !ok || len(got.Patterns()) != 2 || got.Broken() == nil {
			t.Errorf("in force: %v; told: %v", got.Patterns(), got.Broken())
		}
		got = change(func(tx *Tx) error {
			_, there, err := tx.Policy("a")
			if !there {
				t.Error("it cannot be deleted")
			}
			return errors.Join(err, tx.DeletePolicy("a"), tx.DeletePolicy("*"), tx.PutPolicy("b", queue.DefaultPolicy()))
		})
		if _, ok := got.Policy("b"); !ok || got.Broken() != nil {
			t.Errorf("in force: %v; told: %v", got.Patterns(), got.Broken())
		}
	})
}
