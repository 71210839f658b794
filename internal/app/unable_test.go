package app_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/internal/redistest"
)

// newRigBehind starts n nodes that reach a Redis of their own through a door.
func newRigBehind(t *testing.T, n int, args ...string) (*rig, *redistest.Door) {
	t.Helper()
	r := newRigOf(t, 0, 100)
	r.redis = redistest.New(t, args...)
	door := redistest.NewDoor(t, r.redis.Addr())
	r.via = door.Addr()
	for i := range n {
		r.start(i, nil)
	}
	return r, door
}

// storeIs reports what the i-th node says of the store: "up" or "down".
func (r *rig) storeIs(i int, what string) bool {
	resp, err := r.client.Get("http://" + r.nodes[i].Addresses().Ops + "/readyz")
	if err != nil {
		return false
	}
	body := read(resp)
	return resp.StatusCode == http.StatusOK && strings.Contains(body, `"store":"`+what+`"`)
}

// throughout has a visitor (a copy of v) check an item again and again until stop; each answer has to be 200 and one of verdicts.
func (r *rig) throughout(v *visitor, item string, verdicts ...string) (stop func()) {
	one := *v
	ctx, cancel := context.WithCancel(r.t.Context())
	var loop sync.WaitGroup
	loop.Go(func() {
		for ctx.Err() == nil {
			began := time.Now()
			a, err := one.call(0, http.MethodGet, "/v1/items/"+item+"/check")
			verdict, ok := a.Action+"/"+a.Reason, false
			for _, good := range verdicts {
				ok = ok || verdict == good
			}
			if err != nil || a.Status != http.StatusOK || !ok {
				r.t.Errorf("%s: %d %s %v, want one of %v", item, a.Status, verdict, err, verdicts)
			}
			if took := time.Since(began); took > 2*time.Second {
				r.t.Errorf("%s: answered after %v", item, took)
			}
			until(20 * time.Millisecond)
		}
	})
	return func() { cancel(); loop.Wait() }
}

// B023, B136, B040: a store that answers and cannot serve is one that is down, and whatever is the matter with it, visitors
// are answered by the policy, passes hold, nobody is told of an error, and the outage is told of once.
func TestAStoreThatAnswersAndCannotServe(t *testing.T) {
	t.Parallel()
	r, door := newRigBehind(t, 1, "--enable-protected-configs", "yes")
	r.policy("opens", map[string]any{"mode": "on", "inflow_per_second": 0})
	r.policy("closes", map[string]any{"mode": "on", "inflow_per_second": 0, "on_store_failure": "closed"})
	inside, waiting := r.visitor(), r.visitor()
	inside.check(0, "closes")
	r.must("POST", "/items/closes/admit", map[string]any{"count": 1})
	r.eventually(3*time.Second, "one is let in", func() bool { return inside.status(0, "closes").Action == "pass" })
	waiting.check(0, "closes")
	r.visitor().check(0, "opens")
	r.visitor().check(0, "quiet")
	r.eventually(3*time.Second, "both queues are on", func() bool {
		return r.visitor().check(0, "opens").Reason == "queue_on" && waiting.check(0, "closes").position() == 1
	})
	for _, stop := range []func(){
		r.throughout(inside, "closes", "pass/pass_valid"),
		r.throughout(waiting, "closes", "wait/queue_on", "wait/store_down"),
		r.throughout(r.visitor(), "opens", "wait/queue_on", "pass/store_down"),
		r.throughout(r.visitor(), "quiet", "pass/queue_off"),
	} {
		defer stop()
	}
	queued := r.listen()
	events := func(kind string) (n int) {
		for _, one := range queued(kind) {
			n += one
		}
		return n
	}
	store := r.redis.Client()
	ctx := t.Context()
	set := func(name, value string) {
		if err := store.ConfigSet(ctx, name, value).Err(); err != nil {
			t.Errorf("%s %s: %v", name, value, err)
		}
	}
	refused := func(with string) [2]func() {
		return [2]func(){func() { door.Refuse(with) }, func() { door.Rule(nil) }}
	}
	for name, change := range map[string][2]func(){ // to break it, and to mend it
		"it has stopped": {func() { r.redis.Pause() }, func() { r.redis.Resume() }},
		"it cannot save": {func() {
			set("dir", "/proc")
			set("save", "3600 1")
			_ = store.BgSave(ctx).Err()
			r.eventually(3*time.Second, "saving has failed", func() bool {
				return strings.Contains(store.Info(ctx, "persistence").Val(), "rdb_last_bgsave_status:err")
			})
		}, func() { set("save", "") }},
		"it has no memory":      {func() { set("maxmemory", "1") }, func() { set("maxmemory", "0") }},
		"it lacks its replicas": {func() { set("min-replicas-to-write", "1") }, func() { set("min-replicas-to-write", "0") }},
		"it may only read":      {replicaOf(ctx, store, "127.0.0.1", "1"), replicaOf(ctx, store, "NO", "ONE")},
		"it loads its data":     refused("LOADING Redis is loading the dataset in memory"),
		"its cluster is down":   refused("CLUSTERDOWN The cluster is down"),
		"its primary is away":   refused("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."),
		"it is busy":            refused("BUSY Redis is busy running a script."),
	} {
		t.Run(name, func(t *testing.T) {
			down, up := events("store.down"), events("store.up")
			change[0]()
			r.eventually(3*time.Second, "the node knows it", func() bool { return r.storeIs(0, "down") })
			for _, c := range []struct {
				name, verdict string
				a             answer
			}{
				{"a pass holds", "pass/pass_valid", inside.check(0, "closes")},
				{"open lets a stranger in", "pass/store_down", r.visitor().check(0, "opens")},
				{"closed lets a stranger wait", "wait/store_down", r.visitor().check(0, "closes")},
				{"closed keeps the place of one in line", "wait/store_down", waiting.status(0, "closes")},
			} {
				if got := c.a.Action + "/" + c.a.Reason; c.a.Status != http.StatusOK || got != c.verdict {
					t.Errorf("%s: %d %s, want %s", c.name, c.a.Status, got, c.verdict)
				}
			}
			change[1]()
			r.eventually(2*time.Second, "the store is used again", func() bool {
				return r.storeIs(0, "up") && r.visitor().check(0, "opens").Reason == "queue_on"
			})
			if a := waiting.status(0, "closes"); a.position() != 1 {
				t.Errorf("position %d afterwards, want 1", a.position())
			}
			r.eventually(time.Second, "the end is told of", func() bool { return events("store.up") > up })
			if d, u := events("store.down")-down, events("store.up")-up; d != 1 || u != 1 {
				t.Errorf("%d times store.down, %d times store.up", d, u)
			}
		})
	}
}

func replicaOf(ctx context.Context, c *redis.Client, host, port string) func() {
	return func() { _ = c.ReplicaOf(ctx, host, port).Err() }
}
