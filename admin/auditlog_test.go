package admin

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/sqlstore"
)

func TestAuditFilters(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, with func(*Options)) {
		f := newFixture(t, with)
		for i, e := range []sqlstore.AuditEntry{
			{Who: "ann", Action: "policy.put", Subject: "sku-*"},
			{Who: "bob", Action: "policy.delete", Subject: "sku-*"},
			{Who: "ann", Action: "item.pause", Subject: "sku-1"},
			{Who: "ann's twin", Action: "policyholder.put", Subject: "%"},
		} {
			e.Role = sqlstore.Operator
			e.At = start.Add(time.Duration(i) * time.Hour)
			if err := f.store.Audit(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		for query, want := range map[string]string{
			"":                       "policyholder.put item.pause policy.delete policy.put",
			"?who=ann":               "item.pause policy.put",
			"?action=policy":         "policy.delete policy.put",
			"?action=policy.put":     "policy.put",
			"?action=p":              "",
			"?subject=sku-*":         "policy.delete policy.put",
			"?subject=%25":           "policyholder.put",
			"?who=ann&action=policy": "policy.put",
			"?from=2026-12-01T12:00:00Z&to=2026-12-01T13:00:00Z": "policy.delete",
		} {
			var got []string
			for _, row := range f.do("GET", base+"/audit"+query, "").want(t, 200, "").JSON["audit"].([]any) {
				got = append(got, row.(map[string]any)["action"].(string))
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%q gives %v, want %s", query, got, want)
			}
			var exported []string
			for _, row := range f.do("GET", base+"/audit/export"+query, "").want(t, 200, "").JSON["audit"].([]any) {
				exported = append(exported, row.(map[string]any)["action"].(string))
			}
			if strings.Join(exported, " ") != want {
				t.Errorf("%q exports %v, want %s", query, exported, want)
			}
		}
		f.do("GET", base+"/audit?from=yesterday", "").want(t, 400, "invalid_parameter")
		f.do("GET", base+"/audit/export?format=xls", "").want(t, 400, "invalid_parameter")
	})
}

// An export holds all entries, more than one part of it.
func TestAuditExport(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	const many = 2*exportAtOnce + 1
	if _, err := f.store.Change(t.Context(), func(tx *sqlstore.Tx) error {
		for i := range many {
			if err := tx.Audit(sqlstore.AuditEntry{Who: "ann", Role: sqlstore.Operator, Action: "policy.put", Subject: fmt.Sprint(i), After: `{"a":1}`}); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	got := f.do("GET", base+"/audit/export?format=json", "").want(t, 200, "")
	if rows := got.JSON["audit"].([]any); len(rows) != many || rows[0].(map[string]any)["subject"] != fmt.Sprint(many-1) ||
		got.Header.Get("Content-Disposition") != `attachment; filename="audit-2026-12-01.json"` {
		t.Errorf("%d rows, %v", len(rows), got.Header)
	}
	got = f.do("GET", base+"/audit/export?format=csv", "").want(t, 200, "")
	rows, err := csv.NewReader(strings.NewReader(got.Body)).ReadAll()
	if err != nil || len(rows) != many+1 || strings.Join(rows[0], ",") != "at,who,via,role,address,action,subject,reason,before,after" ||
		rows[1][0] != "2026-12-01T11:00:00.000Z" || rows[1][8] != "" || rows[1][9] != `{"a":1}` {
		t.Errorf("%d lines, %v, %v", len(rows), rows[:2], err)
	}
	f.store.Close()
	f.do("GET", base+"/audit/export", "").want(t, 503, "settings_unavailable")
}

// B172: text typed by outsiders is text everywhere, in a spreadsheet too.
func TestExportedCellsAreNoFormulas(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	for _, reason := range []string{
		`=HYPERLINK("http://evil.example","x")`, "+1+1", "-2+3", "@SUM(A1)", "\t=1+1", "\r\n=1", "  =1", "\ufeff=1", "＝1+1", "\u00a0-1",
		"<img src=x onerror=alert(1)>", `"><svg/onload=alert(1)>`, `a "quoted", text`, "plain", "{{7*7}}", "\u202eabc", "",
	} {
		body, _ := json.Marshal(map[string]string{"reason": reason})
		f.do("POST", base+"/items/x/activate", string(body)).want(t, 200, "")
		f.do("POST", base+"/items/x/deactivate", `{"confirm":"x"}`).want(t, 200, "")
		query := "?action=item.activate&to=" + url.QueryEscape(f.hand.Now().Add(time.Hour).Format(time.RFC3339))
		rows, err := csv.NewReader(strings.NewReader(f.do("GET", base+"/audit/export"+query+"&format=csv", "").Body)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, cell := range rows[1] {
			first := strings.TrimLeft(cell, " \t\r\n\u00a0\ufeff")
			if first != "" && strings.ContainsAny(first[:1], "=+-@") || strings.HasPrefix(first, "＝") {
				t.Errorf("%q is exported as %q", reason, cell)
			}
		}
		// encoding/csv reads \r\n inside a cell as \n.
		if want := strings.ReplaceAll(reason, "\r\n", "\n"); strings.TrimPrefix(rows[1][7], "'") != want {
			t.Errorf("%q is exported as %q", reason, rows[1][7])
		}
		exported := f.do("GET", base+"/audit/export"+query, "").JSON["audit"].([]any)[0].(map[string]any)
		if got, _ := exported["reason"].(string); got != reason {
			t.Errorf("%q is exported as %q", reason, got)
		}
	}
}
