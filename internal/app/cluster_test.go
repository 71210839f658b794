package app_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/internal/redisserver"
	"github.com/sluicehq/sluice/internal/redistest"
)

// spread is two nodes on a cluster, with lines on all of its masters.
type spread struct {
	*rig
	cluster *redisserver.Cluster
	client  *redis.ClusterClient
	waiting map[string]*visitor // one in each line
}

func newSpread(t *testing.T, items int) *spread {
	t.Helper()
	r := newRigOf(t, 0, 100)
	s := &spread{rig: r, cluster: redistest.NewCluster(t), waiting: map[string]*visitor{}}
	r.store = s.cluster.URL()
	s.client = s.cluster.Client()
	t.Cleanup(func() { _ = s.client.Close() })
	r.start(0, nil)
	r.start(1, nil)
	r.policy("*", map[string]any{"trigger_window_seconds": 600})
	r.policy("on-*", map[string]any{"mode": "on", "inflow_per_second": 0, "on_store_failure": "closed"})
	for i := range items {
		item := fmt.Sprint("on-", i)
		v := r.visitor()
		r.eventually(3*time.Second, "a place at "+item, func() bool { return v.check(i%2, item).position() == 1 })
		s.waiting[item] = v
	}
	return s
}

// at is the address of the master that keeps an item.
func (s *spread) at(item string) string {
	s.t.Helper()
	c, err := s.client.MasterForKey(s.t.Context(), "sluice:{"+item+"}:queue")
	if err != nil {
		s.t.Fatal(err)
	}
	return c.Options().Addr
}

// server is the one at an address.
func (s *spread) server(addr string) *redisserver.Server {
	for _, server := range s.cluster.Servers {
		if server.Addr() == addr {
			return server
		}
	}
	s.t.Fatalf("no server at %s", addr)
	return nil
}

// replica is the one that follows a master.
func (s *spread) replica(master *redisserver.Server) *redisserver.Server {
	for i, server := range s.cluster.Servers[:3] {
		if server == master {
			return s.cluster.Servers[3+i]
		}
	}
	s.t.Fatal("that master is not one of the first three")
	return nil
}

// during does something to the master at an address, and waits until all of them are served
// again: meanwhile those of the others are answered as ever, and its own by their policy, and soon.
func (s *spread) during(what string, addr string, most time.Duration, do func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	var loops sync.WaitGroup
	touched := map[string]bool{}
	for item, v := range s.waiting {
		theirs := s.at(item) == addr
		touched[item] = theirs
		one := *v
		loops.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				a, err := one.call(0, http.MethodGet, "/v1/items/"+item+"/check")
				took := time.Since(began)
				switch verdict := a.Action + "/" + a.Reason; {
				case err != nil || a.Status != http.StatusOK:
					s.t.Errorf("%s: %s: %d %v", what, item, a.Status, err)
				case verdict != "wait/queue_on" && (verdict != "wait/store_down" || !theirs):
					s.t.Errorf("%s: %s, which it has to do with: %v: %s", what, item, theirs, verdict)
				case a.position() != 1:
					s.t.Errorf("%s: %s: position %d", what, item, a.position())
				case took > 2*time.Second:
					s.t.Errorf("%s: %s: answered after %v", what, item, took)
				}
				until(200 * time.Millisecond)
			}
		})
	}
	until(500 * time.Millisecond)
	do()
	s.eventually(most, what+": all are served again", func() bool {
		for item := range s.waiting {
			if touched[item] && s.visitor().check(1, item).Reason != "queue_on" {
				return false
			}
		}
		return true
	})
	for item := range s.waiting {
		if touched[item] {
			s.moves(what, s.at(item))
			break
		}
	}
	until(500 * time.Millisecond)
	cancel()
	loops.Wait()
}

// moves waits until a line moves that a master keeps.
func (s *spread) moves(what, addr string) {
	s.t.Helper()
	item := ""
	for n := 0; item == "" || s.at(item) != addr; n++ {
		item = fmt.Sprintf("go-%d-%d", len(what), n)
	}
	s.policy(item, map[string]any{"mode": "on", "inflow_per_second": 1})
	s.visitor().check(0, item) // is let in at once, and the next only by a step
	v := s.visitor()
	v.check(0, item)
	s.eventually(5*time.Second, what+": the line of "+item+" moves", func() bool { return v.status(0, item).Action == "pass" })
}

// B034: items keep their counts and their lines while slots move to a master that is new, and nobody is told of it.
func TestSlotsThatMoveTakeTheirItemsAlong(t *testing.T) {
	t.Parallel()
	slots, quiet := 200, 60
	if full {
		slots, quiet = 1000, 200
	}
	s := newSpread(t, 12)
	want := func(a answer, verdict string) {
		if got := a.Action + "/" + a.Reason; a.Status != http.StatusOK || got != verdict {
			t.Errorf("%d %s, want %s", a.Status, got, verdict)
		}
	}
	for i := range quiet {
		want(s.visitor().check(i%2, fmt.Sprint("off-", i)), "pass/queue_off")
	}
	more, err := s.cluster.AddMaster()
	if err != nil {
		t.Fatal(err)
	}
	from := s.server(s.at("on-0"))
	first := int(s.client.ClusterKeySlot(t.Context(), "sluice:{on-0}:queue").Val())
	first = min(max(0, first-slots/2), 16383-slots)
	first = max(first-first%5461, min(first, (first/5461+1)*5461-slots)) // within the range of that master
	ctx, cancel := context.WithCancel(t.Context())
	var loops sync.WaitGroup
	for item, v := range s.waiting {
		one := *v
		loops.Go(func() {
			for ctx.Err() == nil {
				want(one.check(0, item), "wait/queue_on")
				until(50 * time.Millisecond)
			}
		})
	}
	err = s.cluster.MoveSlots(t.Context(), from, more, first, first+slots-1)
	cancel()
	loops.Wait()
	if err != nil {
		t.Fatal(err)
	}
	for i := range quiet {
		item := fmt.Sprint("off-", i)
		s.eventually(5*time.Second, "the one request of "+item+" is counted", func() bool {
			traffic, _ := s.must("GET", "/items/"+item, nil)["traffic"].(map[string]any)
			n, _ := traffic["requests"].(float64)
			if n > 1 {
				t.Fatalf("%s has %v", item, n)
			}
			return n > 0.9
		})
	}
	for item, v := range s.waiting {
		if a := v.check(1, item); a.position() != 1 {
			t.Errorf("%s: %s/%s at %d", item, a.Action, a.Reason, a.position())
		}
	}
}

// B133: a master that dies, one that loses its office, and one that is silent take their own items along, until their
// replicas have taken over, and no others.
func TestAMasterThatFailsTakesNoOthersAlong(t *testing.T) {
	t.Parallel()
	s := newSpread(t, 24)
	// What a cluster of FaultTimeout needs to choose another master, and 5 s for the nodes to follow.
	const elected = 2*redisserver.FaultTimeout + 5*time.Second
	dead := s.cluster.Servers[0]
	s.during("it dies", dead.Addr(), elected, dead.Kill)
	heir := s.replica(s.cluster.Servers[1]).Client()
	defer heir.Close()
	s.during("another takes over", s.cluster.Servers[1].Addr(), 5*time.Second, func() {
		if err := heir.Do(t.Context(), "CLUSTER", "FAILOVER", "TAKEOVER").Err(); err != nil {
			t.Error(err)
		}
	})
	silent := s.cluster.Servers[2]
	s.during("it is silent", silent.Addr(), elected, func() {
		if err := silent.Signal(syscall.SIGSTOP); err != nil {
			t.Error(err)
		}
	})
	for item, v := range s.waiting {
		if a := v.status(1, item); a.position() != 1 {
			t.Errorf("%s: %s/%s at %d", item, a.Action, a.Reason, a.position())
		}
	}
}
