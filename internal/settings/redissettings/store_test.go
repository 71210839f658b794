package redissettings

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/redistest"
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/queue"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func of(owner string, version int64) *settings.Settings {
	return settings.New(settings.Data{Version: version, Owner: owner, Policies: map[queue.Pattern]queue.Policy{"*": queue.DefaultPolicy()}})
}

// node is one node on the store of a test.
func node(t *testing.T, r *redistest.Server, prefix string) (*Store, *settings.Holder) {
	t.Helper()
	h := new(settings.Holder)
	c := r.Client()
	return New(Options{Client: c, Prefix: prefix, Holder: h, Every: 5 * time.Millisecond}), h
}

func TestPublish(t *testing.T) {
	t.Parallel()
	r := redistest.Shared(t)
	s, _ := node(t, r, r.Prefix())
	notices := 0
	s.o.Notify = func(context.Context) error { notices++; return errors.New("not sent, and no harm done") }
	ctx := t.Context()
	if _, ok, err := s.Load(ctx); ok || err != nil {
		t.Fatalf("an empty store: %v %v", ok, err)
	}
	const big = int64(1796172445123456) // 16 digits stay 16 digits
	for _, step := range []struct {
		name    string
		publish *settings.Settings
		err     error
		there   int64
		notices int
	}{
		{"the first is put", of("a", big), nil, big, 1},
		{"the same again changes nothing", of("a", big), nil, big, 1},
		{"an older one leaves the newer", of("a", big-1), nil, big, 1},
		{"a newer one is put", of("a", big+1), nil, big + 1, 2},
		{"another database's is refused", of("b", big+2), settings.ErrOtherOwner, big + 1, 2},
	} {
		if err := s.Publish(ctx, step.publish); !errors.Is(err, step.err) {
			t.Fatalf("%s: %v", step.name, err)
		}
		got, ok, err := s.Load(ctx)
		if err != nil || !ok || got.Version() != step.there || got.Owner() != "a" || notices != step.notices {
			t.Fatalf("%s: there is %v %v, %d notices", step.name, got, err, notices)
		}
	}
}

// invariant live-settings, and "republishing heals a wiped store".
func TestFollow(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	writer, wrote := node(t, r, "s:")
	reader, read := node(t, r, "s:")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	changed := make(chan int64, 16)
	read.OnChange(func(s *settings.Settings) { changed <- s.Version() })
	go reader.Follow(ctx)

	publish := func(v int64) {
		t.Helper()
		wrote.Put(of("a", v))
		if err := writer.Publish(ctx, wrote.Now()); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-changed:
			if got != v {
				t.Fatalf("version %d came, want %d", got, v)
			}
		case <-time.After(5 * time.Second):
			t.Fatalf("version %d did not come", v)
		}
	}
	publish(1)
	publish(2)

	if err := r.Client().FlushAll(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	if err := reader.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := writer.Load(ctx); err != nil || !ok || got.Version() != 2 {
		t.Fatalf("after the wipe: %v %v", ok, err)
	}
	publish(3)
}
