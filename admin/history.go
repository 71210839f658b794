package admin

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
)

// activationView is one row of the history.
type activationView struct {
	Item       queue.Item        `json:"item"`
	Generation *queue.Generation `json:"generation"` // null = of a sale that was missed
	Cause      queue.Cause       `json:"cause"`
	By         string            `json:"by"`
	Grace      bool              `json:"grace"`
	Activated  instant           `json:"activated_at"`
	Released   instant           `json:"released_at"` // null = still on
	Reason     *string           `json:"reason"`
	Books      *booksView        `json:"books"` // at the end; null where not known
	Trip       *queue.Trip       `json:"trip"`  // what the detector saw; null for other causes, or where not known
	// Line is how the line was, at the end; null where not known.
	Line *sqlstore.LineStory `json:"line"`
}

// listActivations is GET /activations?item=&from=&to=&cursor=: the history, newest first.
func (a *Admin) listActivations(c *gin.Context) error {
	f := sqlstore.HistoryFilter{Most: page + 1}
	var err error
	if item := c.Query("item"); item != "" {
		if f.Item, err = queue.ParseItem(item); err != nil {
			return err
		}
	}
	if f.From, err = instantQuery(c, "from"); err != nil {
		return err
	}
	if f.To, err = instantQuery(c, "to"); err != nil {
		return err
	}
	if f.Before, err = cursorQuery(c); err != nil {
		return err
	}
	rows, err := a.o.Store.Activations(c.Request.Context(), f)
	if err != nil {
		return err
	}
	rows, next := cut(rows, func(r sqlstore.Activation) int64 { return r.ID })
	views := make([]activationView, 0, len(rows))
	for _, r := range rows {
		v := activationView{r.Item, orNil(r.Generation), r.Cause, r.By, r.Grace, instant(r.ActivatedAt), instant(r.ReleasedAt), orNil(r.Reason), nil, r.Trip, r.Line}
		if r.Counts != nil {
			books := booksOf(*r.Counts)
			v.Books = &books
		}
		views = append(views, v)
	}
	c.JSON(http.StatusOK, gin.H{"activations": views, "next_cursor": next})
	return nil
}

// cut takes the row beyond a page away, and gives the cursor that goes on from there.
func cut[R any](rows []R, id func(R) int64) ([]R, *string) {
	if len(rows) <= page {
		return rows, nil
	}
	next := strconv.FormatInt(id(rows[page-1]), 10)
	return rows[:page], &next
}

func raw(text string) json.RawMessage {
	if text == "" {
		return json.RawMessage("null")
	}
	return json.RawMessage(text)
}

func instantQuery(c *gin.Context, name string) (time.Time, error) {
	s := c.Query(name)
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, errParameter.With(name + " must be an instant such as 2026-12-01T11:00:00Z.")
	}
	return t, nil
}

func cursorQuery(c *gin.Context) (int64, error) {
	s := c.Query("cursor")
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		return 0, errParameter.With("cursor must be a next_cursor of an answer before.")
	}
	return n, nil
}
