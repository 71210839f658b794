package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/internal/sqlstore"
)

// getSwitch is GET /switch.
func (a *Admin) getSwitch(c *gin.Context) error {
	c.JSON(http.StatusOK, gin.H{"all": a.o.Settings.Now().Switch()})
	return nil
}

// putSwitch is PUT /switch: one switch over all items. Moving it needs {"confirm": "<position>"}.
func (a *Admin) putSwitch(c *gin.Context) error {
	var body struct {
		All settings.Switch `json:"all"`
		confirmBody
	}
	if err := problem.ReadJSON(c, &body); err != nil {
		return err
	}
	if err := a.SetSwitch(c.Request.Context(), who(c), body.All, body.Confirm, body.Reason); err != nil {
		return err
	}
	c.JSON(http.StatusOK, gin.H{"all": body.All})
	return nil
}

// SetSwitch moves the switch over all items. Confirm is the new position; without it a problem.Effect says in numbers
// whom it concerns.
func (a *Admin) SetSwitch(ctx context.Context, by Identity, to settings.Switch, confirm, reason string) error {
	if !to.Valid() {
		return problem.ErrInvalidBody.With("all must be normal, pass or hold.")
	}
	before := a.o.Settings.Now().Switch()
	if before == to {
		return nil
	}
	if confirm != string(to) {
		queues, waiting := a.crowd(ctx)
		return &problem.Effect{
			Err: errConfirm.With(fmt.Sprintf(`%s (%d queues are on, %d people wait). Send "confirm": %q with it to do it.`,
				switchMeans[to], queues, waiting, to)),
			Numbers: map[string]int64{"queues": queues, "waiting": waiting},
		}
	}
	_, err := a.change(ctx, func(tx *sqlstore.Tx) error {
		return errors.Join(tx.SetSwitch(to), tx.Audit(Entry(by, "switch", "all", reason, before, to)))
	})
	return err
}

var switchMeans = map[settings.Switch]string{
	settings.Normal: "Policies and queues are in force again",
	settings.Pass:   "Everybody passes everywhere",
	settings.Hold:   "Nobody new is let in anywhere",
}

// crowdAsked is how many queues are asked for the number of people who wait.
const crowdAsked = 500

// crowd gives the number of queues that are on, and of people who wait in (at least the first 500 of) them.
func (a *Admin) crowd(ctx context.Context) (queues, waiting int64) {
	for _, h := range a.o.Board.All() {
		if !h.On() {
			continue
		}
		queues++
		if queues > crowdAsked {
			continue
		}
		if s, err := a.look(ctx, h.Item); err == nil {
			waiting += s.Counts.Waiting
		}
	}
	return queues, waiting
}
