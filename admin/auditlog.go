package admin

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/sqlstore"
)

// auditView is one write by an operator.
type auditView struct {
	At      instant         `json:"at"`
	Who     string          `json:"who"`
	Via     string          `json:"via"` // token, bootstrap, session, command line
	Role    sqlstore.Role   `json:"role"`
	Address string          `json:"address"`
	Action  string          `json:"action"`
	Subject string          `json:"subject"`
	Reason  *string         `json:"reason"`
	Before  json.RawMessage `json:"before"`
	After   json.RawMessage `json:"after"`
}

func viewAudit(e sqlstore.AuditEntry) auditView {
	return auditView{instant(e.At), e.Who, e.Via, e.Role, e.Address, e.Action, e.Subject, orNil(e.Reason), raw(e.Before), raw(e.After)}
}

// listAudit is GET /audit?who=&action=&subject=&from=&to=&cursor=: who wrote what, newest first.
func (a *Admin) listAudit(c *gin.Context) error {
	f, err := auditFilter(c)
	if err != nil {
		return err
	}
	f.Most = page + 1
	rows, err := a.o.Store.AuditLog(c.Request.Context(), f)
	if err != nil {
		return err
	}
	rows, next := cut(rows, func(r sqlstore.AuditEntry) int64 { return r.ID })
	views := make([]auditView, 0, len(rows))
	for _, r := range rows {
		views = append(views, viewAudit(r))
	}
	c.JSON(http.StatusOK, gin.H{"audit": views, "next_cursor": next})
	return nil
}

func auditFilter(c *gin.Context) (f sqlstore.AuditFilter, err error) {
	f.Who, f.Action, f.Subject = c.Query("who"), c.Query("action"), c.Query("subject")
	if f.From, err = instantQuery(c, "from"); err != nil {
		return f, err
	}
	if f.To, err = instantQuery(c, "to"); err != nil {
		return f, err
	}
	f.Before, err = cursorQuery(c)
	return f, err
}

// exportAtOnce is how many entries an export reads with one query.
const exportAtOnce = 1000

// exporter writes entries in one format.
type exporter interface {
	begin() error
	entry(auditView) error
	end() error
}

// exportAudit is GET /audit/export?format=: all entries that the filter of listAudit chooses, as a file. It is read a
// part at a time; where the database goes away in the middle the connection is cut, so that no half passes for the whole.
func (a *Admin) exportAudit(c *gin.Context) error {
	f, err := auditFilter(c)
	if err != nil {
		return err
	}
	f.Most = exportAtOnce
	var to exporter
	format := c.DefaultQuery("format", "json")
	switch format {
	case "json":
		to = &jsonExport{w: c.Writer}
	case "csv":
		to = csvExport{csv.NewWriter(c.Writer)}
	default:
		return errParameter.With("format must be csv or json.")
	}
	rows, err := a.o.Store.AuditLog(c.Request.Context(), f)
	if err != nil {
		return err
	}
	c.Header("Content-Type", map[string]string{"json": "application/json", "csv": "text/csv; charset=utf-8"}[format])
	c.Header("Content-Disposition", fmt.Sprintf("attachment; filename=%q", "audit-"+a.o.Clock.Now().UTC().Format("2006-01-02")+"."+format))
	c.Status(http.StatusOK)
	cut := func(err error) {
		a.log.WarnContext(c.Request.Context(), "export of the audit cut off", "err", err)
		panic(http.ErrAbortHandler)
	}
	if err := to.begin(); err != nil {
		cut(err)
	}
	for len(rows) > 0 {
		for _, r := range rows {
			if err := to.entry(viewAudit(r)); err != nil {
				cut(err)
			}
		}
		f.Before = rows[len(rows)-1].ID
		if len(rows) < exportAtOnce {
			break
		}
		if rows, err = a.o.Store.AuditLog(c.Request.Context(), f); err != nil {
			cut(err)
		}
	}
	if err := to.end(); err != nil {
		cut(err)
	}
	return nil
}

// jsonExport writes {"audit": [...]}.
type jsonExport struct {
	w     http.ResponseWriter
	comma string
}

func (j *jsonExport) begin() error { return j.text(`{"audit":[`) }
func (j *jsonExport) end() error   { return j.text("]}\n") }

func (j *jsonExport) entry(v auditView) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	comma := j.comma
	j.comma = ",\n"
	return j.text(comma + string(b))
}

func (j *jsonExport) text(s string) error {
	_, err := j.w.Write([]byte(s))
	return err
}

// csvExport writes RFC 4180 with a header line.
type csvExport struct{ *csv.Writer }

func (x csvExport) begin() error {
	return x.Write([]string{"at", "who", "via", "role", "address", "action", "subject", "reason", "before", "after"})
}

func (x csvExport) entry(v auditView) error {
	reason := ""
	if v.Reason != nil {
		reason = *v.Reason
	}
	row := []string{v.At.text(), v.Who, v.Via, string(v.Role), v.Address, v.Action, v.Subject, reason, orNothing(v.Before), orNothing(v.After)}
	for i, cell := range row {
		row[i] = defused(cell)
	}
	return x.Write(row)
}

func (x csvExport) end() error {
	x.Flush()
	return x.Error()
}

func orNothing(j json.RawMessage) string {
	if string(j) == "null" {
		return ""
	}
	return string(j)
}

// defused keeps a spreadsheet from taking a text for a formula: an apostrophe before it makes it text.
// https://owasp.org/www-community/attacks/CSV_Injection
func defused(cell string) string {
	inner := strings.TrimLeft(cell, " \t\r\n\u00a0\ufeff")
	if inner == "" || !strings.ContainsAny(inner[:1], "=+-@") && !strings.HasPrefix(inner, "＝") && !strings.HasPrefix(inner, "＋") &&
		!strings.HasPrefix(inner, "－") && !strings.HasPrefix(inner, "＠") {
		return cell
	}
	return "'" + cell
}
