package app_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
)

// B059: a key of one item that is not what a line writes, and rows of settings that nobody can read, are that item's
// trouble alone: the others go on at their rate, its visitors get an answer, and it works again without a restart.
func TestOneDamagedItemIsNobodyElsesTrouble(t *testing.T) {
	t.Parallel()
	others := 10
	if full {
		others = 50
	}
	r := newRig(t, 1)
	r.must("PATCH", "/policies/sku-*", map[string]any{"mode": "on", "inflow_per_second": 5})
	r.must("PATCH", "/policies/text", map[string]any{"mode": "on"})
	r.must("PATCH", "/policies/less", map[string]any{"mode": "on"})
	for i := range others {
		item := fmt.Sprintf("sku-%d", i)
		r.visitor().check(0, item)
		r.must("POST", "/items/"+item+"/pause", nil)
	}
	r.visitor().check(0, "sku-bad")
	db, err := sql.Open("sqlite", filepath.Join(r.nodes[0].cfg.DataDir, sqlstore.FileName)+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for pattern, body := range map[string]string{"text": `{"inflow_per_second":NaN}`, "less": `{"mode":"on","inflow_per_second":-1}`} {
		if _, err := db.ExecContext(t.Context(), `UPDATE policies SET body = $1 WHERE pattern = $2`, body, pattern); err != nil {
			t.Fatal(err)
		}
	}
	waiting := r.prefix + "{sku-bad}:waiting"
	if err := r.redis.Client().Set(t.Context(), waiting, "not a line", 0).Err(); err != nil {
		t.Fatal(err)
	}
	// Settings are written as ever, and what cannot be read is not in force.
	r.must("PATCH", "/policies/sku-*", map[string]any{"inflow_per_second": 4})
	for _, item := range []string{"text", "less"} {
		r.eventually(2*time.Second, "its policy is none", func() bool {
			status, _ := r.admin("GET", "/policies/"+item, nil)
			return status == 404 && r.visitor().check(0, item).Status == 200
		})
	}
	if logged := strings.Count(r.nodes[0].log.String(), "cannot be read are not in force"); logged != 1 {
		t.Errorf("told %d times of what cannot be read", logged)
	}
	for i := range others {
		item := fmt.Sprintf("sku-%d", i)
		r.fill(queue.Item(item), 40)
		r.must("POST", "/items/"+item+"/resume", nil)
	}
	begun := time.Now()
	for time.Since(begun) < 3*time.Second {
		if a := r.visitor().check(0, "sku-bad"); a.Status != 200 {
			t.Fatalf("a check of the damaged item: %d %s", a.Status, a.Code)
		}
		until(100 * time.Millisecond)
	}
	for i := range others {
		n, _ := r.books(fmt.Sprintf("sku-%d", i))
		if took := time.Since(begun).Seconds(); n["running"] < 8 || n["running"] > 4*took+6 {
			t.Errorf("sku-%d: %v let in after %.1f s at 4 a second", i, n["running"], took)
		}
	}
	if logged := strings.Count(r.nodes[0].log.String(), "level=ERROR"); logged > 10 {
		t.Errorf("%d errors are logged", logged)
	}
	// Written anew, or deleted, and all is well again.
	r.must("PUT", "/policies/text", map[string]any{"mode": "on", "inflow_per_second": 0})
	if status, out := r.admin("DELETE", "/policies/less", nil); status != 204 {
		t.Errorf("deleted: %d %v", status, out)
	}
	r.eventually(2*time.Second, "its policy is in force", func() bool { return r.visitor().check(0, "text").Reason == "queue_on" })
	r.redis.Client().Del(t.Context(), waiting)
	r.must("PATCH", "/policies/sku-bad", map[string]any{"mode": "on", "inflow_per_second": 0})
	v := r.visitor()
	r.eventually(3*time.Second, "the damaged item has a line again", func() bool { return v.check(0, "sku-bad").position() > 0 })
}
