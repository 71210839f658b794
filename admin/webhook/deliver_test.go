package webhook

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/internal/postgrestest"
	"github.com/sluicehq/sluice/internal/sqlstore"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Ending{M: m}.Run()) }

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// plain keeps secrets as they are.
type plain struct{}

func (plain) OpenText(_, sealed string) (string, bool) { return sealed, sealed != "of another key" }

// stand is some deliverers over one database, and a receiver.
type stand struct {
	*testing.T
	o     sqlstore.Options
	store *sqlstore.Store
	hand  *clock.Hand
	to    *receiver
	hook  sqlstore.Webhook
	least time.Duration // that a receiver has to answer; 0 = as ever
}

// onBoth runs a test on SQLite and on Postgres.
func onBoth(t *testing.T, test func(*stand)) {
	t.Helper()
	for kind, open := range map[string]func(*testing.T) sqlstore.Options{
		"SQLite":   func(t *testing.T) sqlstore.Options { return sqlstore.Options{Dir: t.TempDir()} },
		"Postgres": func(t *testing.T) sqlstore.Options { return sqlstore.Options{URL: postgrestest.Shared(t)} },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := &stand{T: t, o: open(t), hand: clock.At(noon), to: newReceiver(t)}
			s.o.AutoMigrate, s.o.Clock = true, s.hand
			s.store = s.open()
			s.hook = s.register(s.to.url + "/hook")
			test(s)
		})
	}
}

func (s *stand) open() *sqlstore.Store {
	s.Helper()
	store, err := sqlstore.Open(s.Context(), s.o)
	s.must(err)
	s.Cleanup(func() { store.Close() })
	return store
}

func (s *stand) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *stand) change(f func(*sqlstore.Tx) error) {
	s.Helper()
	_, err := s.store.Change(s.Context(), f)
	s.must(err)
}

func (s *stand) register(url string, types ...string) (w sqlstore.Webhook) {
	s.Helper()
	s.change(func(tx *sqlstore.Tx) (err error) {
		w, err = tx.AddWebhook(sqlstore.Webhook{URL: url, Types: types, Secret: NewSecret()})
		return err
	})
	return w
}

// queue has an event sent to all who want it, and gives its id.
func (s *stand) queue(typ, subject string) string {
	s.Helper()
	id := NewID()
	e := Event{ID: id, Type: typ, Source: Source("o"), Subject: subject, Time: s.hand.Now(), Data: map[string]any{"by": "김철수"}}
	body, err := e.Body()
	s.must(err)
	s.change(func(tx *sqlstore.Tx) error {
		return tx.Queue(sqlstore.Letter{Message: id, Type: typ, Subject: subject, Body: body, Lasts: Lasts})
	})
	return id
}

// run starts a deliverer on a store, until the test ends or stop is called.
func (s *stand) run(store *sqlstore.Store) (d *Deliverer, stop func()) {
	sender := NewSender(NewTargets([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), s.hand, "test")
	if s.least > 0 {
		sender.client.Timeout = s.least
	}
	d = NewDeliverer(Options{
		Queue: store, Secrets: plain{}, Sender: sender,
		Clock: s.hand, Every: 5 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); d.Run(ctx) }()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	s.Cleanup(stop)
	return d, stop
}

func (s *stand) deliveries() []sqlstore.Delivery {
	s.Helper()
	all, err := s.store.Deliveries(s.Context(), sqlstore.DeliveryFilter{Webhook: s.hook.ID, Most: 1000})
	s.must(err)
	slices.Reverse(all)
	return all
}

// until waits for the deliveries to be so.
func (s *stand) until(what string, done func([]sqlstore.Delivery) bool) []sqlstore.Delivery {
	s.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.After(30 * time.Second)
	for {
		all := s.deliveries()
		if done(all) {
			return all
		}
		select {
		case <-tick.C:
		case <-late:
			s.Fatalf("%s: not within 30 s: %+v", what, all)
		}
	}
}

// tried waits until the n-th try of the only delivery has been noted.
func (s *stand) tried(n int) sqlstore.Delivery {
	s.Helper()
	return s.until(fmt.Sprintf("try %d", n), func(all []sqlstore.Delivery) bool { return len(all) == 1 && all[0].Tries >= n })[0]
}

// receiver is the other side. Each request is answered as do says; nil = 204.
type receiver struct {
	url string

	mu  sync.Mutex
	got []request
	do  func(n int, w http.ResponseWriter, r *http.Request)
}

type request struct {
	header http.Header
	body   string
	path   string
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.got = append(r.got, request{req.Header.Clone(), string(body), req.URL.Path})
		n, do := len(r.got), r.do
		r.mu.Unlock()
		if do == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		do(n, w, req)
	}))
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

func (r *receiver) answers(do func(n int, w http.ResponseWriter, r *http.Request)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.do = do
}

func (r *receiver) requests() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// cut ends the connection without an answer.
func cut(w http.ResponseWriter) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	c.(*net.TCPConn).SetLinger(0)
	c.Close()
}

// B145: one id for all tries, a fresh timestamp and signature for each, also while the secret is rotated; no redirect
// is followed, and 410 is the end.
func TestTriesOfOneMessage(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s *stand) {
		other := newReceiver(s.T)
		hang := make(chan struct{})
		s.Cleanup(func() { close(hang) })
		s.to.answers(func(n int, w http.ResponseWriter, r *http.Request) {
			switch n {
			case 1:
				w.WriteHeader(500)
				fmt.Fprint(w, "a stack that is nobody's business")
			case 2:
				cut(w)
			case 3:
				http.Redirect(w, r, other.url, http.StatusMovedPermanently)
			case 4:
				<-hang // longer than anybody waits
			case 5:
				w.Header().Set("Retry-After", "600")
				w.WriteHeader(503)
			case 6:
				w.WriteHeader(410)
			default:
				w.WriteHeader(200)
			}
		})
		s.least = 300 * time.Millisecond
		old, fresh := s.hook.Secret, NewSecret()
		id := s.queue("queue.activated", "sku-1")
		d, _ := s.run(s.store)
		wants := []string{"answered 500", "the connection was cut", "answered 301: redirects are not followed", "timed out", "answered 503"}
		for i, want := range wants {
			m := s.tried(i + 1)
			if m.State != sqlstore.Pending || m.Error != want {
				s.Fatalf("after try %d: %+v", i+1, m)
			}
			wait := m.DueAt.Sub(s.hand.Now())
			least, most := []time.Duration{4, 12, 36, 108, 600}[i]*time.Second, []time.Duration{6, 18, 54, 162, 600}[i]*time.Second
			if wait < least || wait > most {
				s.Errorf("after try %d it waits %v", i+1, wait)
			}
			if i == 1 {
				s.change(func(tx *sqlstore.Tx) error {
					return tx.RotateWebhookSecret(s.hook.ID, fresh, s.hand.Now().Add(time.Hour))
				})
			}
			s.hand.Add(max(wait, 5*time.Minute)) // so that the tries lie 25 minutes apart in all
			d.Wake()
		}
		if m := s.tried(6); m.State != sqlstore.Dead || m.Status != 410 {
			s.Fatalf("after 410: %+v", m)
		}
		s.until("the end of the webhook", func([]sqlstore.Delivery) bool {
			w, err := s.store.Webhook(s.Context(), s.hook.ID)
			s.must(err)
			return !w.Enabled() && w.DisabledWhy == "answered 410"
		})
		s.queue("queue.released", "sku-1") // of this it is not told
		s.hand.Add(time.Minute)
		s.change(func(tx *sqlstore.Tx) error {
			if err := tx.EnableWebhook(s.hook.ID); err != nil {
				return err
			}
			return tx.Resend(s.deliveries()[0].ID, Lasts)
		})
		d.Wake()
		if m := s.until("the resent one", func(all []sqlstore.Delivery) bool { return all[0].State == sqlstore.Delivered }); len(m) != 1 {
			s.Errorf("told of what happened while it was disabled: %+v", m)
		}
		if n := len(other.requests()); n > 0 {
			s.Errorf("%d requests followed the redirect", n)
		}
		stamps, signatures := map[string]bool{}, map[string]bool{}
		got := s.to.requests()
		for i, r := range got {
			stamp := r.header.Get("webhook-timestamp")
			stamps[stamp], signatures[r.header.Get("webhook-signature")] = true, true
			if r.header.Get("webhook-id") != id || r.body != got[0].body || r.path != "/hook" || r.header.Get("Content-Type") != ContentType {
				s.Errorf("try %d: %v %s", i+1, r.header, r.body)
			}
			for secret, signs := range map[string]bool{old: true, fresh: i >= 2, NewSecret(): false} {
				w, _ := standardwebhooks.NewWebhook(secret)
				if err := w.VerifyIgnoringTimestamp([]byte(r.body), r.header); (err == nil) != signs {
					s.Errorf("try %d: %v", i+1, err)
				}
			}
		}
		if len(got) != 7 || len(stamps) != 7 || len(signatures) != 7 {
			s.Errorf("%d requests, %d timestamps, %d signatures", len(got), len(stamps), len(signatures))
		}
		last, _ := strconv.ParseInt(got[5].header.Get("webhook-timestamp"), 10, 64)
		if last < noon.Add(20*time.Minute).Unix() {
			s.Errorf("the sixth try was at %d", last)
		}
		// The old secret ends.
		s.hand.Add(time.Hour)
		s.queue("queue.paused", "sku-1")
		d.Wake()
		s.until("one more", func(all []sqlstore.Delivery) bool { return len(all) == 2 && all[1].State == sqlstore.Delivered })
		r := s.to.requests()[7]
		if w, _ := standardwebhooks.NewWebhook(old); w.VerifyIgnoringTimestamp([]byte(r.body), r.header) == nil {
			s.Error("the old secret signs for ever")
		}
	})
}

func TestADayOfFailuresIsADeadLetter(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s *stand) {
		s.to.answers(func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400) })
		s.queue("queue.activated", "sku-1")
		d, _ := s.run(s.store)
		n := 0
		for {
			n++
			m := s.tried(n)
			if m.State == sqlstore.Dead {
				break
			}
			s.hand.Set(m.DueAt)
			d.Wake()
		}
		if age := s.hand.Now().Sub(noon); n < 11 || n > 16 || age < 18*time.Hour || age > Lasts {
			s.Errorf("dead after %d tries and %v", n, age)
		}
		s.until("the count", func([]sqlstore.Delivery) bool { return d.DeadLetters() == 1 })
		s.change(func(tx *sqlstore.Tx) error {
			n, err := tx.ResendDead(s.hook.ID, Lasts)
			if n != 1 {
				s.Errorf("%d sent again", n)
			}
			return err
		})
		d.Wake()
		if m := s.tried(1); m.State != sqlstore.Pending || m.Until != s.hand.Now().Add(Lasts) {
			s.Errorf("sent again: %+v", m)
		}
	})
}

// A receiver that is slow or down delays no other one.
func TestASlowReceiverDelaysNoOther(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s *stand) {
		release := make(chan struct{})
		s.to.answers(func(_ int, w http.ResponseWriter, r *http.Request) {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		})
		quick := newReceiver(s.T)
		s.register(quick.url)
		down := httptest.NewServer(http.NotFoundHandler())
		down.Close()
		s.register(down.URL)
		s.run(s.store)
		for i := range 20 {
			s.queue("queue.activated", fmt.Sprint("sku-", i))
		}
		s.until("all of the quick one's", func([]sqlstore.Delivery) bool { return len(quick.requests()) == 20 })
		if n := len(s.to.requests()); n > slotsEach {
			s.Errorf("%d requests at once to the slow one", n)
		}
		close(release)
		s.until("all of the slow one's", func(all []sqlstore.Delivery) bool {
			return !slices.ContainsFunc(all, func(d sqlstore.Delivery) bool { return d.State != sqlstore.Delivered })
		})
	})
}

func TestMessagesOfOneSubjectComeInOrder(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s *stand) {
		var poison string
		s.to.answers(func(n int, w http.ResponseWriter, r *http.Request) {
			if n <= 2 || r.Header.Get("webhook-id") == poison { // down at first; later it never takes this one
				w.WriteHeader(500)
			}
		})
		var want []string
		for i := range 10 {
			want = append(want, s.queue("queue.activated", "sku-1"))
			if i == 0 {
				s.run(s.store)
			}
		}
		s.until("all", func(all []sqlstore.Delivery) bool {
			s.hand.Set(latest(all, s.hand.Now()))
			return !slices.ContainsFunc(all, func(d sqlstore.Delivery) bool { return d.State != sqlstore.Delivered })
		})
		var got []string
		for _, r := range s.to.requests()[2:] {
			got = append(got, r.header.Get("webhook-id"))
		}
		if !slices.Equal(got, want) {
			s.Errorf("came as %v\nwant    %v", got, want)
		}

		// One that is never taken holds back the others of its subject for four tries, and those of others not at all.
		poison = NewID()
		s.change(func(tx *sqlstore.Tx) error {
			return tx.Queue(sqlstore.Letter{Message: poison, Type: "queue.paused", Subject: "sku-1", Body: []byte("{}"), Lasts: Lasts})
		})
		s.queue("queue.resumed", "sku-1")
		s.queue("queue.resumed", "sku-2")
		began := s.hand.Now()
		all := s.until("the others", func(all []sqlstore.Delivery) bool {
			if all[12].State == sqlstore.Delivered && all[10].Tries < sqlstore.InOrderTries {
				s.hand.Set(latest(all, s.hand.Now()))
			}
			return all[11].State == sqlstore.Delivered
		})
		if waited := s.hand.Now().Sub(began); all[10].Tries < sqlstore.InOrderTries || waited > 90*time.Second {
			s.Errorf("held back for %v, and %d tries", waited, all[10].Tries)
		}
	})
}

// latest is when the next of the messages that wait is due.
func latest(all []sqlstore.Delivery, now time.Time) time.Time {
	for _, d := range all {
		if d.State == sqlstore.Pending && d.DueAt.After(now) {
			return d.DueAt
		}
	}
	return now
}

// Of several nodes one sends a message; what one that died was sending is sent by another.
func TestOneOfSeveralNodesSends(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s *stand) {
		for range 3 {
			s.run(s.open())
		}
		for i := range 60 {
			s.queue("queue.activated", fmt.Sprint("sku-", i))
		}
		s.until("all", func(all []sqlstore.Delivery) bool {
			return !slices.ContainsFunc(all, func(d sqlstore.Delivery) bool { return d.State != sqlstore.Delivered })
		})
		if n := len(s.to.requests()); n != 60 {
			s.Errorf("%d requests", n)
		}
	})
}

func TestWhatADeadNodeWasSendingIsSentByAnother(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s *stand) {
		s.queue("queue.activated", "sku-1")
		claimed, err := s.store.ClaimDeliveries(s.Context(), s.hook.ID, 4, lease) // and that is the last of it
		if s.must(err); len(claimed) != 1 {
			s.Fatalf("claimed %+v", claimed)
		}
		if due, err := s.store.DueWebhooks(s.Context()); err != nil || len(due) > 0 {
			s.Fatalf("due for another node: %v %v", due, err)
		}
		d, _ := s.run(s.open())
		s.hand.Add(lease)
		d.Wake()
		s.tried(1)
		claimed[0].State = sqlstore.Dead
		s.must(s.store.Tried(s.Context(), claimed[0], true)) // too late
		if m := s.deliveries()[0]; m.State != sqlstore.Delivered {
			s.Errorf("%+v", m)
		}
	})
}

func TestAStopLeavesWhatIsUnderWayToTheNextStart(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s *stand) {
		reached := make(chan struct{}, 1)
		s.to.answers(func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 1 {
				reached <- struct{}{}
				<-r.Context().Done()
			}
		})
		id := s.queue("queue.activated", "sku-1")
		_, stop := s.run(s.store)
		<-reached
		stop()
		if m := s.deliveries()[0]; m.State != sqlstore.Pending || m.Tries != 0 {
			s.Fatalf("after the stop: %+v", m)
		}
		s.run(s.open())
		s.tried(1)
		if got := s.to.requests(); len(got) != 2 || got[1].header.Get("webhook-id") != id {
			s.Errorf("%d requests", len(got))
		}
	})
}

func TestWhoIsToldOfWhat(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s *stand) {
		some := s.register(s.to.url, "queue.activated", "sale.opened")
		count := func(w sqlstore.Webhook) int {
			all, err := s.store.Deliveries(s.Context(), sqlstore.DeliveryFilter{Webhook: w.ID, Most: 10})
			s.must(err)
			return len(all)
		}
		s.queue("queue.activated", "a")
		s.queue("queue.released", "a")
		s.queue("sale.opened", "a")
		if count(s.hook) != 3 || count(some) != 2 {
			s.Errorf("%d and %d", count(s.hook), count(some))
		}
		// However often it is told: queued once.
		for range 3 {
			s.change(func(tx *sqlstore.Tx) error {
				return tx.Queue(sqlstore.Letter{Message: NameID("x"), Type: "queue.activated", Body: []byte("{}"), Lasts: Lasts})
			})
		}
		if count(s.hook) != 4 || count(some) != 3 {
			s.Errorf("%d and %d", count(s.hook), count(some))
		}
		// What has ended is kept for a while.
		s.change(func(tx *sqlstore.Tx) error { return tx.DisableWebhook(some.ID, "x") })
		s.must(s.store.DropDeliveries(s.Context(), s.hand.Now().Add(time.Hour), s.hand.Now()))
		if count(some) != 3 {
			s.Error("dropped too early")
		}
		s.must(s.store.DropDeliveries(s.Context(), s.hand.Now(), s.hand.Now().Add(time.Millisecond)))
		if count(some) != 0 || count(s.hook) != 4 {
			s.Errorf("%d and %d", count(some), count(s.hook))
		}
		s.change(func(tx *sqlstore.Tx) error { _, err := tx.DeleteWebhook(s.hook.ID); return err })
		if count(s.hook) != 0 {
			s.Error("messages outlive their webhook")
		}
	})
}

func TestASecretOfAnotherKeySaysSo(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s *stand) {
		s.change(func(tx *sqlstore.Tx) error { return tx.RotateWebhookSecret(s.hook.ID, "of another key", time.Time{}) })
		s.queue("queue.activated", "sku-1")
		s.run(s.store)
		if m := s.tried(1); !strings.Contains(m.Error, "--secret-key") || len(s.to.requests()) > 0 {
			s.Errorf("%+v", m)
		}
	})
}
