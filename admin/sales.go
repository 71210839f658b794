package admin

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/settings"
	"github.com/sluicehq/sluice/internal/sqlstore"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/scheduler/sale"
)

// SaleView is a sale as it is answered.
type SaleView struct {
	ID string `json:"id"`
	sale.Form
	Local localTimes `json:"local"` // the same times as the clocks of the zone show them
	// Phase is what its plan says of this moment: planned, prequeue, open or over.
	Phase      string          `json:"phase"`
	Occurrence *OccurrenceView `json:"occurrence"` // that is on, or else the next; null where all are over
}

type localTimes struct {
	PrequeueAt *string `json:"prequeue_at"`
	OpensAt    *string `json:"opens_at"`
	ClosesAt   *string `json:"closes_at"`
}

// OccurrenceView is one time that a sale is on.
type OccurrenceView struct {
	PrequeueAt instant    `json:"prequeue_at"`
	OpensAt    instant    `json:"opens_at"`
	ClosesAt   instant    `json:"closes_at"`
	Moved      bool       `json:"moved"` // the local time does not exist on that day: the first instant after the gap
	Local      localTimes `json:"local"`
}

// ViewSale is a sale at an instant.
func ViewSale(p *sale.Plan, now time.Time) SaleView {
	ms := now.UnixMilli()
	v := SaleView{ID: p.ID, Form: p.Form(), Local: localOf(p, sale.Occurrence{PrequeueMS: p.PrequeueMS, OpensMS: p.OpensMS, ClosesMS: p.ClosesMS}), Phase: "over"}
	if o, ok := p.At(ms); ok {
		view := viewOccurrence(p, o)
		v.Occurrence = &view
		switch {
		case ms >= o.OpensMS:
			v.Phase = "open"
		case ms >= o.StartMS():
			v.Phase = "prequeue"
		default:
			v.Phase = "planned"
		}
	}
	return v
}

func viewOccurrence(p *sale.Plan, o sale.Occurrence) OccurrenceView {
	return OccurrenceView{msInstant(o.PrequeueMS), msInstant(o.OpensMS), msInstant(o.ClosesMS), o.Moved, localOf(p, o)}
}

func localOf(p *sale.Plan, o sale.Occurrence) localTimes {
	text := func(ms int64) *string {
		if ms == 0 {
			return nil
		}
		t := p.Local(ms)
		return &t
	}
	return localTimes{text(o.PrequeueMS), text(o.OpensMS), text(o.ClosesMS)}
}

var (
	errNoSale = sqlstore.ErrNotFound.With("There is no sale of this id.")
)

// listSales is GET /sales?format=: all of them, by the time at which they are on or will be; those that are over come last.
func (a *Admin) listSales(c *gin.Context) error {
	if file, err := asFile(c); err != nil {
		return err
	} else if file {
		return a.salesFile(c)
	}
	now := a.o.Settings.Now()
	views := []SaleView{}
	for _, p := range now.Sales().Plans() {
		views = append(views, ViewSale(p, a.o.Clock.Now()))
	}
	starts := func(v SaleView) time.Time {
		if v.Occurrence == nil {
			return time.Unix(1<<40, 0)
		}
		return time.Time(v.Occurrence.OpensAt)
	}
	slices.SortStableFunc(views, func(x, y SaleView) int { return starts(x).Compare(starts(y)) })
	c.JSON(http.StatusOK, gin.H{"sales": views, "version": now.Version()})
	return nil
}

// getSale is GET /sales/{id}.
func (a *Admin) getSale(c *gin.Context) error {
	p := a.o.Settings.Now().Sales().Plan(problem.Param(c, "id"))
	if p == nil {
		return errNoSale
	}
	return a.answerSale(c, http.StatusOK, p)
}

func (a *Admin) answerSale(c *gin.Context, status int, p *sale.Plan) error {
	c.Header("ETag", ETag(p.Form()))
	c.JSON(status, ViewSale(p, a.o.Clock.Now()))
	return nil
}

// postSale is POST /sales: a new sale under an id of its own.
func (a *Admin) postSale(c *gin.Context) error {
	body, err := problem.ReadBody(c)
	if err != nil {
		return err
	}
	p, err := a.AddSale(c.Request.Context(), who(c), body)
	if err != nil {
		return err
	}
	c.Header("Location", base+"/sales/"+p.ID)
	return a.answerSale(c, http.StatusCreated, p)
}

// putSale is PUT /sales/{id}: the whole sale; it is made where there is none of the id.
func (a *Admin) putSale(c *gin.Context) error {
	body, err := problem.ReadBody(c)
	if err != nil {
		return err
	}
	p, created, err := a.PutSale(c.Request.Context(), who(c), problem.Param(c, "id"), body, c.Request.Header.Values("If-Match"))
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return a.answerSale(c, status, p)
}

// deleteSale is DELETE /sales/{id}.
func (a *Admin) deleteSale(c *gin.Context) error {
	if err := a.DeleteSale(c.Request.Context(), who(c), problem.Param(c, "id"), c.Request.Header.Values("If-Match")); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

// lateOpening is how much in the past a new sale may open: now, by clocks that differ.
const lateOpening = time.Minute

// AddSale makes a sale, given as JSON, and its id.
func (a *Admin) AddSale(ctx context.Context, by Identity, body []byte) (*sale.Plan, error) {
	p, err := ReadSale(body, strings.ToLower(rand.Text()[:12]))
	if err != nil {
		return nil, err
	}
	if now := a.o.Clock.Now(); !p.Repeats() && p.OpensMS < now.Add(-lateOpening).UnixMilli() {
		return nil, sale.ErrInvalid.With("opens_at must be in the future.")
	}
	_, err = a.change(ctx, func(tx *sqlstore.Tx) error {
		_, _, err := WriteSale(tx, by, "sale.add", p, a.o.Clock.Now())
		return err
	})
	if err != nil {
		return nil, err
	}
	a.policyChanged(saleEvent(by, p.ID, a.o.Clock.Now()))
	return p, nil
}

// PutSale writes a whole sale, given as JSON, and tells whether there was none of the id. match are the lines of
// If-Match.
func (a *Admin) PutSale(ctx context.Context, by Identity, id string, body []byte, match []string) (p *sale.Plan, created bool, err error) {
	if id, err = sale.ParseID(id); err != nil {
		return nil, false, err
	}
	if p, err = ReadSale(body, id); err != nil {
		return nil, false, err
	}
	changed := false
	_, err = a.change(ctx, func(tx *sqlstore.Tx) error {
		before, err := tx.Settings()
		if err != nil {
			return err
		}
		old := before.Sales().Plan(id)
		var tag any
		if old != nil {
			tag = old.Form()
		}
		if err := ifMatch(match, tag, old != nil); err != nil {
			return err
		}
		created, changed, err = WriteSale(tx, by, "sale.put", p, a.o.Clock.Now())
		return err
	})
	if err != nil {
		return nil, false, err
	}
	if changed {
		a.policyChanged(saleEvent(by, id, a.o.Clock.Now()))
	}
	return p, created, nil
}

// DeleteSale deletes a sale. Where it is on, its queues let in who waits, and go off.
func (a *Admin) DeleteSale(ctx context.Context, by Identity, id string, match []string) error {
	_, err := a.change(ctx, func(tx *sqlstore.Tx) error {
		before, err := tx.Settings()
		if err != nil {
			return err
		}
		old := before.Sales().Plan(id)
		if old == nil {
			return errNoSale
		}
		if err := ifMatch(match, old.Form(), true); err != nil {
			return err
		}
		return errors.Join(tx.DeleteSale(id), tx.Audit(Entry(by, "sale.delete", id, "", old.Form(), nil)),
			queuePolicyChanged(tx, before.Owner(), saleEvent(by, id, a.o.Clock.Now())))
	})
	if err == nil {
		a.policyChanged(saleEvent(by, id, a.o.Clock.Now()))
	}
	return err
}

func saleEvent(by Identity, id string, now time.Time) Event {
	return Event{Type: PolicyChanged, Time: now, Data: map[string]any{"sale": id, "by": by.Name}}
}

// ReadSale reads and checks a whole sale, given as JSON.
func ReadSale(body []byte, id string) (*sale.Plan, error) {
	// The walk along the type finds what encoding/json lets pass, inside the overrides too.
	var strict struct {
		sale.Form
		ID        *string        `json:"id"`
		Overrides *overridesBody `json:"overrides"`
	}
	if err := problem.Decode(body, &strict); err != nil {
		return nil, err
	}
	for _, field := range notBuilt {
		if _, there := fieldsOf(fieldsOf(body)["overrides"])[field]; there {
			return nil, problem.ErrNotAvailable.With("overrides." + field + " is not available in this version.")
		}
	}
	if strict.ID != nil && *strict.ID != id {
		return nil, problem.ErrInvalidBody.With("id is another one than that of the address; leave it out for a new sale.")
	}
	var f sale.Form
	if err := json.Unmarshal(body, &f); err != nil {
		return nil, problem.ErrInvalidBody.Because(err)
	}
	return f.Plan(id)
}

// overridesBody is what overrides may name: the fields of a policy but its pattern.
type overridesBody struct {
	queue.Policy
	notBuiltFields
}

// WriteSale writes a sale as part of a change, with its audit and what webhooks are told, unless it is there already just so. It refuses what
// others or a policy stand against: sale.ErrOverlap, queue.ErrModeFixed, and what the role may not.
func WriteSale(tx *sqlstore.Tx, by Identity, action string, p *sale.Plan, now time.Time) (created, changed bool, err error) {
	before, err := tx.Settings()
	if err != nil {
		return false, false, err
	}
	old := before.Sales().Plan(p.ID)
	if old != nil && old.Form().Same(p.Form()) {
		return false, false, nil
	}
	if err := mayOverride(by, p, old); err != nil {
		return false, false, err
	}
	if err := fits(before, p, now); err != nil {
		return false, false, err
	}
	e := Entry(by, action, p.ID, "", nil, p.Form())
	if old != nil {
		e.Before = jsonText(old.Form())
	}
	return old == nil, true, errors.Join(tx.PutSale(p.Sale), tx.Audit(e), queuePolicyChanged(tx, before.Owner(), saleEvent(by, p.ID, now)))
}

// fits checks a sale against the others, and against the policy of its item.
func fits(s *settings.Settings, p *sale.Plan, now time.Time) error {
	for _, other := range s.Sales().Plans() {
		if other.ID == p.ID || other.Item != p.Item {
			continue
		}
		if err := sale.Overlap(p, other, now.UnixMilli()); err != nil {
			return err
		}
	}
	if _, policy := s.For(queue.Item(p.Item)); p.Item.Exact() && p.Override(policy).Mode == queue.ModeOff {
		return queue.ErrModeFixed.With("The policy's mode is off: no sale opens this queue. Change the policy, or override its mode.")
	}
	return nil
}

// ofMarketing are the policy fields that a marketer may override.
var ofMarketing = []string{"inflow_per_second", "max_waiting", "order", "wait_page"}

// mayOverride lets a marketer override only those fields; others stay as they were.
func mayOverride(by Identity, p, old *sale.Plan) error {
	if by.May(sqlstore.Operator) {
		return nil
	}
	var before map[string]json.RawMessage
	if old != nil {
		before = fieldsOf(old.Sale.Overrides)
	}
	now := fieldsOf(p.Sale.Overrides)
	for field := range before {
		if _, kept := now[field]; !kept && !slices.Contains(ofMarketing, field) {
			return errMarketing(field)
		}
	}
	for field, value := range now {
		if !slices.Contains(ofMarketing, field) && string(before[field]) != string(value) {
			return errMarketing(field)
		}
	}
	return nil
}

func errMarketing(field string) *fault.Error {
	return problem.ErrForbidden.With(fmt.Sprintf("The role marketer may override %s, and not %s.", strings.Join(ofMarketing, ", "), field))
}
