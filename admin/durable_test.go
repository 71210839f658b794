package admin

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/postgrestest"
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/memline"
)

// What the other process of TestKill9 is told: which kind of database, and where.
const serveEnv, serveAtEnv = "SLUICE_ADMIN_TEST_SERVE", "SLUICE_ADMIN_TEST_SERVE_AT"

func databaseAt(kind, at string) sqlstore.Options {
	if kind == "Postgres" {
		return sqlstore.Options{URL: at, AutoMigrate: true}
	}
	return sqlstore.Options{Dir: at, AutoMigrate: true}
}

// serveForever is an admin API in a process of its own, at a port that it prints.
func serveForever(kind, at string) {
	ctx := context.Background()
	store, err := sqlstore.Open(ctx, databaseAt(kind, at))
	if err != nil {
		panic(err)
	}
	a, err := New(ctx, Options{
		Store: store, Settings: new(settings.Holder), Keys: testKeys, Line: memline.New(memline.Options{}), Board: new(queue.Board),
		BootstrapToken: root, Log: quiet(),
	})
	if err != nil {
		panic(err)
	}
	server := httptest.NewServer(a.Handler())
	fmt.Println(server.URL)
	select {}
}

// inDatabases runs a test on each kind, with the address of an empty one.
func inDatabases(t *testing.T, test func(t *testing.T, kind, at string)) {
	t.Run("SQLite", func(t *testing.T) { t.Parallel(); test(t, "SQLite", t.TempDir()) })
	t.Run("Postgres", func(t *testing.T) { t.Parallel(); test(t, "Postgres", postgrestest.Shared(t)) })
}

// invariant live-settings: whatever was written is there after kill -9 right after the answer, and so is its audit.
func TestKill9(t *testing.T) {
	t.Parallel()
	inDatabases(t, func(t *testing.T, kind, at string) {
		for _, w := range []struct{ method, path, body, action string }{
			{"PATCH", "/policies/x", `{"inflow_per_second":7}`, "policy.patch"},
			{"DELETE", "/policies/x", "", "policy.delete"},
			{"POST", "/sales", `{"name":"s","item":"y","opens_at":"2036-12-01T11:00:00Z","time_zone":"UTC"}`, "sale.put"},
			{"PUT", "/policies/y", `{"inflow_per_second":3}`, "policy.put"},
			{"PUT", "/sales/planned", `{"name":"s","item":"z","opens_at":"2036-12-01T11:00:00Z","time_zone":"UTC"}`, "sale.put"},
			{"PUT", "/sales/planned", `{"name":"t","item":"z","opens_at":"2036-12-01T11:00:00Z","time_zone":"UTC"}`, "sale.put"},
			{"DELETE", "/sales/planned", "", "sale.delete"},
			{"PUT", "/keys/connector", `{"customer_id":"shop","secret":"a-secret-of-the-shop"}`, "key.connector"},
			{"POST", "/tokens", `{"name":"t","role":"viewer"}`, "token.add"},
			{"POST", "/users", `{"name":"ann","role":"viewer"}`, "user.add"},
			{"POST", "/webhooks", `{"url":"https://1.1.1.1/"}`, "webhook.add"},
			{"POST", "/keys", `{}`, "key.rotate"},
			{"PUT", "/switch", `{"all":"hold","confirm":"hold"}`, "switch"},
			{"POST", "/items/x/activate", `{}`, "item.activate"},
		} {
			answered := writeAndKill(t, kind, at, w.method, w.path, w.body)
			store, err := sqlstore.Open(t.Context(), databaseAt(kind, at))
			if err != nil {
				t.Fatal(err)
			}
			last, err := store.AuditLog(t.Context(), sqlstore.AuditFilter{Most: 1})
			if err != nil || len(last) != 1 || !strings.HasPrefix(last[0].Action, strings.TrimSuffix(w.action, ".put")) {
				t.Errorf("%s %s was answered %s; the audit ends with %+v %v", w.method, w.path, answered, last, err)
			}
			s, err := store.Settings(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p, has := s.Policy("x")
			switch w.action {
			case "policy.patch":
				if p.InflowPerSecond != 7 {
					t.Errorf("the policy is not there: %+v", p)
				}
			case "policy.delete":
				if has {
					t.Error("the policy is there again")
				}
			case "policy.put":
				if p, _ := s.Policy("y"); p.InflowPerSecond != 3 {
					t.Errorf("the policy is not there: %+v", p)
				}
			case "sale.put", "sale.delete":
				if planned := s.Sales().Plan("planned"); strings.Contains(w.path, "planned") && (planned == nil) != (w.action == "sale.delete") {
					t.Errorf("after %s the sale is %+v", w.action, planned)
				}
			case "key.connector":
				if s.Connector().CustomerID != "shop" {
					t.Error("the connector is not there")
				}
			case "token.add":
				if all, err := store.Tokens(t.Context()); err != nil || len(all) != 1 {
					t.Errorf("tokens %v %v", all, err)
				}
			case "user.add":
				if all, err := store.Users(t.Context()); err != nil || len(all) != 1 {
					t.Errorf("users %v %v", all, err)
				}
			case "webhook.add":
				if all, err := store.Webhooks(t.Context()); err != nil || len(all) != 1 {
					t.Errorf("webhooks %v %v", all, err)
				}
			case "switch":
				if s.Switch() != settings.Hold {
					t.Errorf("the switch is %s", s.Switch())
				}
			}
			store.Close()
		}
	})
}

// writeAndKill starts a process, writes, and kills it as soon as the answer is here.
func writeAndKill(t *testing.T, kind, at, method, path, body string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveEnv+"="+kind, serveAtEnv+"="+at)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := sync.OnceFunc(func() { cmd.Process.Kill(); cmd.Wait() })
	t.Cleanup(kill)
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the other process did not start")
	}
	r, _ := http.NewRequest(method, lines.Text()+base+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+root)
	resp, err := http.DefaultClient.Do(r)
	kill()
	if err != nil || resp.StatusCode/100 != 2 {
		t.Fatalf("%s %s: answered %v %v", method, path, resp, err)
	}
	defer resp.Body.Close()
	return resp.Status
}

// Fifty at once raise one number, at two nodes of one database; who is told 412 reads again. No update is lost.
func TestFiftyWritersLoseNoUpdate(t *testing.T) {
	t.Parallel()
	inDatabases(t, func(t *testing.T, kind, at string) {
		var nodes []*fixture
		for range 2 {
			store, err := sqlstore.Open(t.Context(), databaseAt(kind, at))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { store.Close() })
			f := newFixture(t, func(o *Options) { o.Store = store })
			f.follow()
			nodes = append(nodes, f)
		}
		nodes[0].do("PATCH", base+"/policies/x", `{"trigger_requests":1}`).want(t, 201, "")
		const writers = 50
		var sure, unsure atomic.Int64
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				f := nodes[i%2]
				tick := time.NewTicker(10 * time.Millisecond)
				defer tick.Stop()
				for ; ; <-tick.C {
					now := f.do("GET", base+"/policies/x", "")
					n, known := now.JSON["trigger_requests"].(float64)
					if !known { // not taken over there yet
						continue
					}
					got := f.do("PATCH", base+"/policies/x", fmt.Sprintf(`{"trigger_requests":%d}`, int(n)+1), "If-Match", now.Header.Get("ETag"))
					switch detail, _ := got.JSON["detail"].(string); {
					case got.Code == http.StatusOK:
						sure.Add(1)
						return
					case got.Code == http.StatusPreconditionFailed, strings.Contains(detail, "nothing was changed"): // that queue was too long
					case strings.Contains(detail, "Read it again"):
						unsure.Add(1)
						return
					default:
						t.Errorf("answered %d %s", got.Code, got.Body)
						return
					}
				}
			})
		}
		wg.Wait()
		s, err := nodes[0].store.Settings(t.Context())
		p, _ := s.Policy("x")
		if made := p.TriggerRequests - 1; err != nil || made < sure.Load() || made > sure.Load()+unsure.Load() {
			t.Errorf("%d updates are there; %d were answered, and of %d it was said that nobody knows; %v", made, sure.Load(), unsure.Load(), err)
		}
	})
}
