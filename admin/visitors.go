package admin

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
)

// standingView is where one visitor stands.
type standingView struct {
	Item     queue.Item    `json:"item"`
	Visitor  queue.Visitor `json:"visitor"`
	Set      *string       `json:"set"`      // waiting, running; null = in neither
	Position *int64        `json:"position"` // 1 = next; null also in a prequeue that draws lots
	JoinedAt instant       `json:"joined_at"`
	HeardAt  instant       `json:"heard_at"` // to about a second
	How      *string       `json:"how"`      // let in: admitted, grace or carried
	Admitted instant       `json:"admitted_at"`
	Claimed  instant       `json:"claimed_at"`
	PassEnds instant       `json:"pass_expires_at"`
	Requests *int64        `json:"requests"` // of the session, as of a second ago; one that many share shows here
	State    queue.State   `json:"state"`    // of the queue
}

var admissionWords = map[queue.AdmissionKind]string{queue.Let: "admitted", queue.Graced: "grace", queue.Carried: "carried"}

// getVisitor is GET /items/{item}/visitors/{visitor}, or /visitors?ref= or ?user=.
func (a *Admin) getVisitor(c *gin.Context) error {
	item, v, err := a.visitorOf(c)
	if err != nil {
		return err
	}
	s, err := a.o.Line.Find(c.Request.Context(), item, v)
	if err != nil {
		return err
	}
	view := standingView{Item: item, Visitor: v, State: s.Header.State}
	switch s.Outcome {
	case queue.Waiting:
		view.Set, view.Position = orNil("waiting"), orNil(s.Position)
		view.JoinedAt, view.HeardAt = instant(queue.ScoreTime(s.Score)), msInstant(s.HeardMS)
	case queue.Inside:
		ad := s.Admission
		view.Set, view.How = orNil("running"), orNil(admissionWords[ad.Kind])
		view.Requests = &ad.Requests
		view.Admitted, view.Claimed, view.PassEnds = msInstant(ad.AdmittedMS), msInstant(ad.ClaimedMS), msInstant(ad.PassEndsMS)
	}
	c.JSON(http.StatusOK, view)
	return nil
}

// revokeVisitor is DELETE of the same addresses: the place or the session ends, and what proved it with it. 204 also
// when there was none, since the proofs end all the same.
func (a *Admin) revokeVisitor(c *gin.Context) error {
	item, v, err := a.visitorOf(c)
	if err != nil {
		return err
	}
	if _, err := a.Revoke(c.Request.Context(), who(c), item, v); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

// Revoke ends the place or the session of one visitor.
func (a *Admin) Revoke(ctx context.Context, by Identity, item queue.Item, v queue.Visitor) (queue.EndReport, error) {
	r, err := a.o.Line.End(ctx, item, queue.Ending{Kind: queue.Revoke, Visitor: v})
	if err != nil {
		return r, err
	}
	a.seen(r.Header)
	a.audit(ctx, Entry(by, "visitor.revoke", string(item), "", nil,
		map[string]any{"visitor": v.Short(), "was_waiting": r.WasWaiting, "was_running": r.WasRunning}))
	return r, nil
}

// visitorOf reads the item and the visitor of the address: an id, a page's short reference, or a server's user id.
func (a *Admin) visitorOf(c *gin.Context) (queue.Item, queue.Visitor, error) {
	item, err := itemOf(c)
	if err != nil {
		return "", "", err
	}
	id, ref, user := problem.Param(c, "visitor"), c.Query("ref"), c.Query("user")
	var v queue.Visitor
	switch {
	case id != "":
		v, err = queue.ParseVisitor(id)
	case (ref == "") == (user == ""):
		err = errParameter.With("Name the visitor by one of ref and user.")
	case user != "":
		v, err = a.VisitorOfUser(user)
	default:
		v, err = a.VisitorOfRef(c.Request.Context(), item, ref)
	}
	return item, v, err
}

// VisitorOfUser gives the visitor that a server's user id stands for.
func (a *Admin) VisitorOfUser(user string) (queue.Visitor, error) {
	if a.o.UserVisitor == nil {
		return "", problem.ErrNotAvailable.With("user is not available on this node.")
	}
	if user == "" || len(user) > 256 {
		return "", errParameter.With("user must be 1 to 256 bytes.")
	}
	return a.o.UserVisitor(user), nil
}

// VisitorOfRef gives the visitor of an id, or of the short reference that a waiting page shows.
func (a *Admin) VisitorOfRef(ctx context.Context, item queue.Item, ref string) (queue.Visitor, error) {
	if v, err := queue.ParseVisitor(ref); err == nil {
		return v, nil // long enough to be the whole id
	}
	if a.o.FindRef == nil {
		return "", problem.ErrNotAvailable.With("ref is not available on this node.")
	}
	v, found, err := a.o.FindRef(ctx, item, ref)
	if err == nil && !found {
		err = sqlstore.ErrNotFound.With("No visitor of this item has this reference.")
	}
	return v, err
}
