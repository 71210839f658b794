package admin

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/admin/webhook"
	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/sqlstore"
)

// Deliveries lists the messages to a webhook, newest first: of one state, or "" = of any; of a lower id than before,
// or 0 = from the newest.
func (a *Admin) Deliveries(ctx context.Context, id, state string, before int64, most int) ([]DeliveryView, error) {
	if _, err := a.o.Store.Webhook(ctx, id); err != nil {
		return nil, err
	}
	if !slices.Contains([]string{"", sqlstore.Pending, sqlstore.Delivered, sqlstore.Dead}, state) {
		return nil, errParameter.With("state must be pending, delivered or dead.")
	}
	all, err := a.o.Store.Deliveries(ctx, sqlstore.DeliveryFilter{Webhook: id, State: state, Before: before, Most: most})
	views := make([]DeliveryView, 0, len(all))
	for _, d := range all {
		views = append(views, viewDelivery(d))
	}
	return views, err
}

// Resend has one message sent again that was delivered or given up, under the id that it had.
func (a *Admin) Resend(ctx context.Context, by Identity, id string, delivery int64) error {
	_, err := a.change(ctx, func(tx *sqlstore.Tx) error {
		d, err := tx.Delivery(id, delivery)
		if err != nil {
			return err
		}
		if err := tx.Resend(d.ID, webhook.Lasts); err != nil {
			return err
		}
		return tx.Audit(Entry(by, "webhook.resend", id, "", nil, map[string]any{"delivery": d.ID, "message": d.Message}))
	})
	a.deliverer.Wake()
	return err
}

// ResendDead has all messages to a webhook sent again that were given up, and tells how many these are.
func (a *Admin) ResendDead(ctx context.Context, by Identity, id string) (n int64, err error) {
	_, err = a.change(ctx, func(tx *sqlstore.Tx) error {
		if _, err := tx.Webhook(id); err != nil {
			return err
		}
		if n, err = tx.ResendDead(id, webhook.Lasts); err != nil {
			return err
		}
		return tx.Audit(Entry(by, "webhook.resend", id, "", nil, map[string]any{"resent": n}))
	})
	a.deliverer.Wake()
	return n, err
}

// listDeliveries is GET /webhooks/{id}/deliveries?state=&cursor=.
func (a *Admin) listDeliveries(c *gin.Context) error {
	before, err := cursorQuery(c)
	if err != nil {
		return err
	}
	views, err := a.Deliveries(c.Request.Context(), c.Param("id"), c.Query("state"), before, page+1)
	if err != nil {
		return err
	}
	views, next := cut(views, func(v DeliveryView) int64 { return v.ID })
	c.JSON(http.StatusOK, gin.H{"deliveries": views, "next_cursor": next})
	return nil
}

// postResend is POST /webhooks/{id}/deliveries/{delivery}/resend.
func (a *Admin) postResend(c *gin.Context) error {
	if err := problem.ReadOptionalJSON(c, &struct{}{}); err != nil {
		return err
	}
	delivery, err := strconv.ParseInt(c.Param("delivery"), 10, 64)
	if err != nil || delivery < 1 {
		return sqlstore.ErrNotFound.With("There is no such delivery.")
	}
	if err := a.Resend(c.Request.Context(), who(c), c.Param("id"), delivery); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

// postResendDead is POST /webhooks/{id}/resend: all dead letters.
func (a *Admin) postResendDead(c *gin.Context) error {
	if err := problem.ReadOptionalJSON(c, &struct{}{}); err != nil {
		return err
	}
	n, err := a.ResendDead(c.Request.Context(), who(c), c.Param("id"))
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, gin.H{"resent": n})
	return nil
}
