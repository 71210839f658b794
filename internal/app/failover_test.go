package app_test

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/redisserver"
	"github.com/sluicehq/sluice/internal/redistest"
)

// B037: where the store is found by one address, and another server answers there from now on, while the old one lives on as
// its replica: connections that are open to the old one do not keep a node from writing.
func TestAPrimaryThatIsDemotedBehindItsAddress(t *testing.T) {
	t.Parallel()
	r, door := newRigBehind(t, 1)
	r.policy("sku-1", map[string]any{"mode": "on", "inflow_per_second": 0, "on_store_failure": "closed"})
	waiting := r.visitor()
	r.eventually(3*time.Second, "a place", func() bool { return waiting.check(0, "sku-1").position() == 1 })
	ctx := t.Context()
	heir := redistest.New(t)
	replicaOfServer := func(one, of *redistest.Server) {
		host, port, _ := net.SplitHostPort(of.Addr())
		if err := one.Client().ReplicaOf(ctx, host, port).Err(); err != nil {
			t.Error(err)
		}
	}
	replicaOfServer(heir, r.redis)
	r.eventually(5*time.Second, "the replica has it all", func() bool {
		return strings.Contains(heir.Client().Info(ctx, "replication").Val(), "master_link_status:up")
	})
	stop := r.throughout(waiting, "sku-1", "wait/queue_on", "wait/store_down")
	if err := heir.Client().ReplicaOf(ctx, "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
	replicaOfServer(r.redis, heir)
	door.Lead(heir.Addr())
	newcomers := 0
	r.eventually(5*time.Second, "newcomers get places in the line of the new primary", func() bool {
		newcomers++
		return r.visitor().check(0, "sku-1").position() > 1 && r.storeIs(0, "up") && heir.Client().ZCard(ctx, "sluice:{sku-1}:waiting").Val() > 1
	})
	r.eventually(5*time.Second, "no connection is left that may not write", func() bool {
		before := strings.Count(r.nodes[0].log.String(), "READONLY")
		for range 20 {
			r.visitor().check(0, "sku-1")
		}
		return strings.Count(r.nodes[0].log.String(), "READONLY") == before
	})
	stop()
	if a := waiting.check(0, "sku-1"); a.position() != 1 {
		t.Errorf("position %d afterwards, want 1", a.position())
	}
}

// B038: after a failover that was ordered, and after one because the primary has died, the lines move on by themselves, at the
// inflow that is set, nobody falls back, and no node spins meanwhile.
func TestLinesMoveOnAfterAFailover(t *testing.T) {
	t.Parallel()
	const inflow = 20
	people, ordered := 800, 1
	if full {
		people, ordered = 5000, 3
	}
	r := newRigOf(t, 0, 100)
	s := redistest.NewSentinels(t)
	r.store = s.URL()
	r.start(0, nil)
	r.start(1, nil)
	r.policy("sku-1", map[string]any{"inflow_per_second": 0, "on_store_failure": "closed", "abandon_seconds": 3600})
	r.activate("sku-1")
	crowd := make([]*visitor, people)
	together(20, func(k int) {
		for i := k; i < people; i += 20 {
			crowd[i] = r.visitor()
			crowd[i].check(i%2, "sku-1")
		}
	})
	last := crowd[people-1]
	stood := last.status(0, "sku-1").position()
	if stood < 1 {
		t.Fatalf("position %d", stood)
	}
	r.must("POST", "/items/sku-1/inflow", map[string]any{"inflow_per_second": inflow})
	began := time.Now()
	// in is how many have been let in; -1 while nobody can say.
	in := func() int64 {
		status, live := r.admin("GET", "/items/sku-1", nil)
		running, ok := live["running"].(float64)
		if status != http.StatusOK || !ok {
			return -1
		}
		if most := int64(inflow*time.Since(began).Seconds()) + inflow + 1; int64(running) > most {
			t.Fatalf("%v are in after %v", running, time.Since(began))
		}
		return int64(running)
	}
	goesOn := func(what string, most time.Duration) {
		t.Helper()
		var from atomic.Int64
		from.Store(-1)
		r.eventually(most, what+": the line moves", func() bool {
			if a := last.status(1, "sku-1"); a.Status != http.StatusOK || a.position() > stood {
				t.Fatalf("%s: %d, position %d after %d", what, a.Status, a.position(), stood)
			} else if p := a.position(); p > 0 {
				stood = p
			}
			n := in()
			if n >= 0 && r.storeIs(0, "up") {
				from.CompareAndSwap(-1, n)
			}
			return from.Load() >= 0 && n > from.Load()+inflow/2
		})
		n, at := in(), time.Now()
		until(2 * time.Second)
		if more, due := float64(in()-n), inflow*time.Since(at).Seconds(); more < 0.7*due || more > 1.3*due {
			t.Errorf("%s: %v were let in where %v were due", what, more, due)
		}
	}
	goesOn("at first", 5*time.Second)
	for range ordered {
		was := s.Primary(t.Context())
		if err := s.Failover(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.eventually(2*redisserver.FaultTimeout, "another is the primary", func() bool {
			now := s.Primary(t.Context())
			return now != nil && now != was
		})
		goesOn("after a failover that was ordered", 10*time.Second)
	}
	r.eventually(4*redisserver.FaultTimeout, "the old primary follows the new one", func() bool {
		c := s.Primary(t.Context()).Client()
		defer c.Close()
		return strings.Contains(c.Info(t.Context(), "replication").Val(), "state=online")
	})
	used, at := processor(t), time.Now()
	s.Primary(t.Context()).Kill()
	goesOn("after the primary has died", 3*redisserver.FaultTimeout+10*time.Second)
	if used, wall := processor(t)-used, time.Since(at); used > wall {
		t.Errorf("%v of a processor in %v", used, wall)
	}
}

// processor is the time that this process has had of processors.
func processor(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
