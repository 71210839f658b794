package chaos_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/internal/fleet"
	"github.com/sluicehq/sluice/internal/postgrestest"
	"github.com/sluicehq/sluice/internal/redisserver"
	"github.com/sluicehq/sluice/internal/redistest"
	"github.com/sluicehq/sluice/queue"
)

// program is the sluice that all cases run; TestMain builds it.
var program string

func TestMain(m *testing.M) { redistest.Main(built{postgrestest.Ending{M: m}}) }

// built runs tests with the program built.
type built struct{ postgrestest.Ending }

func (b built) Run() int {
	dir, err := os.MkdirTemp("", "sluice-chaos-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "sluice")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/sluicehq/sluice/cmd/sluice").CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%v: %s", err, out))
	}
	return b.Ending.Run()
}

// world is what one case runs.
type world struct {
	*fleet.Fleet
	t     *testing.T
	ctx   context.Context
	crowd *crowd

	// The store, of one of three kinds; client speaks to it past all faults on the wire.
	redis     *redistest.Server
	sentinels *redisserver.Sentinels
	cluster   *redisserver.Cluster
	client    redis.UniversalClient
	door      *door       // between the nodes and a store of the first kind
	dead      *fleet.Node // whom the fault is about, where it is about one
	sql       *postgrestest.Server

	mu     sync.Mutex
	events map[string]int
}

// build starts what a case needs: the store, one node that administers, and others that serve and move.
func build(t *testing.T, c fault) *world {
	t.Helper()
	w := &world{t: t, ctx: t.Context(), events: map[string]int{}}
	url := c.store(w)
	var err error
	if w.Fleet, err = fleet.New(fleet.Options{Program: []string{program}, Environ: append(os.Environ(), c.environ...), RedisURL: url}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	t.Cleanup(func() {
		if t.Failed() {
			for _, n := range append(w.Nodes, w.Admin) {
				t.Logf("%s printed last:\n%s", n.Name, n.Output())
			}
		}
	})
	flags := []string{"--webhook-allow-private", "loopback"}
	if c.postgres {
		w.sql = postgrestest.New(t)
		flags = append(flags, "--database-url", w.sql.URL(), "--auto-migrate")
	}
	if _, err := w.Start(w.ctx, "admin", "admin", flags...); err != nil {
		t.Fatal(err)
	}
	for i := range max(2, c.nodes) {
		if _, err := w.Start(w.ctx, fmt.Sprintf("node%d", i+1), "gate,scheduler", c.flags...); err != nil {
			t.Fatal(err)
		}
	}
	go w.listen()
	w.must(w.Policy(w.ctx, unseen, map[string]any{"trigger_requests": queue.MaxNumber}))
	for item, fields := range map[string]map[string]any{
		lined: {"inflow_per_second": inflow, "on_store_failure": "closed"},
		shut:  {"inflow_per_second": 0, "on_store_failure": "closed"},
		opens: {"inflow_per_second": 0, "on_store_failure": "open"},
	} {
		fields["abandon_seconds"], fields["session_seconds"], fields["claim_seconds"] = 600, 3600, 300
		w.must(w.Policy(w.ctx, item, fields))
		w.must(w.Act(w.ctx, item, "activate", nil))
		_, err := w.Known(w.ctx, item)
		w.must(err)
	}
	w.must(w.Act(w.ctx, lined, "pause", nil))
	w.crowd = newCrowd(w.Nodes)
	w.crowd.checks = c.checks
	if c.forgotten {
		w.crowd.unseen = append(w.crowd.unseen, "pass/store_down")
	}
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// listen counts the events that operators are told of.
func (w *world) listen() {
	req, err := http.NewRequestWithContext(w.ctx, http.MethodGet, w.Admin.AdminURL+"/admin/api/v1/events", nil)
	if err != nil {
		return
	}
	req.Header.Set("Authorization", "Bearer "+fleet.AdminToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if kind, ok := strings.CutPrefix(lines.Text(), "event:"); ok {
			w.mu.Lock()
			w.events[strings.TrimSpace(kind)]++
			w.mu.Unlock()
		}
	}
}

// told gives how often operators were told of a kind of event.
func (w *world) told(kind string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.events[kind]
}

// finds reports whether a node finds the store up, and whether it answers at all.
func (w *world) finds(n *fleet.Node) (up, answers bool) {
	ctx, cancel := context.WithTimeout(w.ctx, time.Second)
	defer cancel()
	status, body, err := w.Get(ctx, n.OpsURL+"/readyz")
	var ready struct {
		Store string `json:"store"`
	}
	return err == nil && status == http.StatusOK && json.Unmarshal(body, &ready) == nil && ready.Store == "up", err == nil
}

// admitted is the books' count of people let into the line; -1 where nobody can say.
func (w *world) admitted() int64 {
	ctx, cancel := context.WithTimeout(w.ctx, time.Second)
	defer cancel()
	var live struct {
		Books struct {
			Admitted int64 `json:"admitted"`
		} `json:"books"`
	}
	if err := w.Call(ctx, http.MethodGet, "/items/"+lined, nil, &live); err != nil {
		return -1
	}
	return live.Books.Admitted
}

// recovered reports whether every node uses the store again: newcomers get places, and the line moves.
func (w *world) recovered(before int64) bool {
	for _, n := range w.Nodes {
		if up, _ := w.finds(n); !up {
			return false
		}
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		status, body, err := w.Get(ctx, n.URL+"/v1/items/"+shut+"/check")
		cancel()
		if err != nil || status != http.StatusOK || !strings.Contains(string(body), `"queue_on"`) {
			return false
		}
	}
	now := w.admitted()
	return now >= 0 && now != before
}

// doubled counts those who hold a pass, or are inside as the store has it, and have a place in the line too.
func (w *world) doubled() int64 {
	waiting, err := w.client.ZRange(w.ctx, "sluice:{"+lined+"}:waiting", 0, -1).Result()
	w.must(err)
	running, err := w.client.ZRange(w.ctx, "sluice:{"+lined+"}:running", 0, -1).Result()
	w.must(err)
	inside := map[string]bool{}
	for _, id := range running {
		inside[id] = true
	}
	for _, p := range w.crowd.people {
		if !p.admitted.IsZero() {
			inside[p.id] = true
		}
	}
	var both int64
	for _, id := range waiting {
		if inside[id] {
			both++
		}
	}
	return both
}
