package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/config"
	"github.com/sluicehq/sluice/internal/postgrestest"
)

// newRigOver makes a rig of a node for each of the roles, over one database.
func newRigOver(t *testing.T, database string, roles ...config.Roles) *rig {
	t.Helper()
	r := newRig(t, 0)
	r.sql, r.roles, r.client.Timeout = database, map[int]config.Roles{}, 20*time.Second
	for i, of := range roles {
		r.roles[i] = of
		r.start(i, nil)
	}
	return r
}

// newSharedRig makes a rig of two admin nodes on one Postgres, and three gates.
func newSharedRig(t *testing.T) (*rig, *postgrestest.Server) {
	t.Helper()
	database := postgrestest.New(t)
	admin, gate := config.Roles{Admin: true, Scheduler: true}, config.Roles{Gate: true}
	return newRigOver(t, database.URL(), admin, admin, gate, gate, gate), database
}

// everywhere waits until a visitor who comes anew to any gate gets an answer for a reason.
func (r *rig) everywhere(most time.Duration, item, reason string) {
	r.t.Helper()
	r.eventually(most, item+" answers "+reason+" at every gate", func() bool {
		for i, n := range r.nodes {
			if n != nil && n.Addresses().Visitor != "" && r.visitor().check(i, item).Reason != reason {
				return false
			}
		}
		return true
	})
}

// invariant live-settings, B176: what either admin node writes is in force at all gates and at the other within a second.
// With the database away visitors notice nothing, actions on items work, sales open, and changes of settings are refused
// with a text that says so; what happened meanwhile reaches history, audit and webhooks afterwards.
func TestTwoAdminNodesOnOnePostgres(t *testing.T) {
	t.Parallel()
	r, database := newSharedRig(t)
	for writer := range 2 {
		item := []string{"first", "second"}[writer]
		if status, out := r.adminAt(writer, "PUT", "/policies/"+item, map[string]any{"mode": "on", "inflow_per_second": 0}); status != 201 {
			t.Fatalf("node %d: %d %v", writer, status, out)
		}
		r.everywhere(time.Second, item, "queue_on")
		r.eventually(time.Second, "the other admin node has it", func() bool {
			status, out := r.adminAt(1-writer, "GET", "/policies/"+item, nil)
			return status == 200 && out["mode"] == "on"
		})
	}

	away := 3 * time.Second
	if full {
		away = 20 * time.Second
	}
	told := r.listen()
	if status, out := r.adminAt(1, "PUT", "/sales/drop", map[string]any{
		"name": "Drop", "item": "drop", "opens_at": time.Now().Add(3 * time.Second).UTC().Format("2006-01-02T15:04:05.000Z"),
		"overrides": map[string]any{"inflow_per_second": 0},
	}); status != 201 {
		t.Fatalf("a sale: %d %v", status, out)
	}
	database.Stop()
	gone := time.Now()
	for i := range 2 {
		status, out := r.adminAt(i, "PATCH", "/policies/first", map[string]any{"inflow_per_second": 5})
		detail, _ := out["detail"].(string)
		if status != 503 || out["code"] != "settings_unavailable" || !strings.Contains(detail, "database") || !strings.Contains(detail, "Actions on items work") {
			t.Errorf("a change at node %d while the database is away: %d %v", i, status, out)
		}
	}
	if status, out := r.adminAt(0, "POST", "/items/third/activate", map[string]any{"reason": "while it is away"}); status != 200 {
		t.Errorf("an action while the database is away: %d %v", status, out)
	}
	if status, out := r.adminAt(1, "POST", "/items/third/inflow", map[string]any{"inflow_per_second": 0}); status != 200 {
		t.Errorf("an action while the database is away: %d %v", status, out)
	}
	r.everywhere(10*time.Second, "drop", "queue_on") // the sale opens by the published copy
	for time.Since(gone) < away {
		for item, reason := range map[string]string{"first": "queue_on", "second": "queue_on", "drop": "queue_on", "quiet": "queue_off"} {
			for gate := 2; gate <= 4; gate++ {
				if a := r.visitor().check(gate, item); a.Status != 200 || a.Reason != reason {
					t.Fatalf("%s at gate %d: %+v", item, gate, a)
				}
			}
		}
		until(50 * time.Millisecond)
	}
	database.Restart()
	r.eventually(10*time.Second, "settings can be written again", func() bool {
		status, _ := r.adminAt(1, "PATCH", "/policies/first", map[string]any{"mode": "off"})
		return status == 200
	})
	r.everywhere(2*time.Second, "first", "queue_off")
	r.eventually(10*time.Second, "history and audit have what happened meanwhile, once", func() bool {
		_, history := r.adminAt(1, "GET", "/activations?item=third", nil)
		_, audit := r.adminAt(1, "GET", "/audit?subject=third&action=item", nil)
		rows, _ := history["activations"].([]any)
		entries, _ := audit["audit"].([]any)
		return len(rows) == 1 && len(entries) == 2
	})
	r.eventually(10*time.Second, "history and webhooks have the sale's step, once", func() bool {
		_, history := r.adminAt(0, "GET", "/activations?item=drop", nil)
		rows, _ := history["activations"].([]any)
		return len(rows) == 1 && rows[0].(map[string]any)["cause"] == "sale" && told("sale.opened")["drop"] == 1
	})
}
