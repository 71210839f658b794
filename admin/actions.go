package admin

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/fault"
	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/queue"
)

var (
	errParameter = fault.New("invalid_parameter", "A parameter is not valid.")
	errConfirm   = fault.New("confirm_needed", "This needs to be confirmed.")
)

// Bodies of the actions: each knows the fields that mean something to it, so that no other passes silently.
type (
	plainBody   struct{ reasonField }
	confirmBody struct {
		reasonField
		Confirm string `json:"confirm"`
	}
	admitBody struct {
		reasonField
		Count int64 `json:"count"`
	}
	inflowBody struct {
		reasonField
		InflowPerSecond *float64 `json:"inflow_per_second"`
	}
	reasonField struct {
		Reason string `json:"reason"`
	}
)

// act is one action on one item under way.
type act struct {
	item   queue.Item
	action queue.Action
	reason string
	order  queue.SwitchOrder
	before queue.Snapshot
	// ask gives the question to confirm, and "" where there is nothing to ask; given is what was sent as confirm.
	ask   func(queue.Snapshot) string
	given string
}

// plain is POST /items/{item}/activate, drain, pause, resume.
func (a *Admin) plain(action queue.Action) gin.HandlerFunc {
	return problem.Handle(func(c *gin.Context) error {
		var body plainBody
		if err := problem.ReadOptionalJSON(c, &body); err != nil {
			return err
		}
		return a.act(c, act{action: action, reason: body.Reason})
	})
}

// confirmed is POST /items/{item}/deactivate, close, reset: ask says what it would cost whom.
func (a *Admin) confirmed(action queue.Action, ask func(queue.Snapshot) string) gin.HandlerFunc {
	return problem.Handle(func(c *gin.Context) error {
		var body confirmBody
		if err := problem.ReadOptionalJSON(c, &body); err != nil {
			return err
		}
		return a.act(c, act{action: action, reason: body.Reason, ask: ask, given: body.Confirm})
	})
}

// askDeactivate asks while more than one second's inflow waits.
func askDeactivate(s queue.Snapshot) string {
	if float64(s.Counts.Waiting) <= s.Header.Inflow {
		return ""
	}
	return fmt.Sprintf("%d people wait and would all pass at once.", s.Counts.Waiting)
}

// askClose asks while people wait.
func askClose(s queue.Snapshot) string {
	if s.Counts.Waiting == 0 {
		return ""
	}
	return fmt.Sprintf("%d people wait and would be turned away.", s.Counts.Waiting)
}

// askReset always asks.
func askReset(s queue.Snapshot) string {
	return fmt.Sprintf("%d people would lose their places and %d their passes.", s.Counts.Waiting, s.Counts.Running)
}

// admit is POST /items/{item}/admit: lets so many in beyond the rate.
func (a *Admin) admit(c *gin.Context) error {
	var body admitBody
	if err := problem.ReadJSON(c, &body); err != nil {
		return err
	}
	if body.Count < 1 || body.Count > queue.MaxNumber {
		return problem.ErrInvalidBody.With("count must be a whole number from 1 to 1000000000.")
	}
	return a.act(c, act{action: queue.Admit, reason: body.Reason, order: queue.SwitchOrder{Count: body.Count}})
}

// setInflow is POST /items/{item}/inflow: over policy, sale and ramp, until null or the generation ends.
func (a *Admin) setInflow(c *gin.Context) error {
	sent, err := problem.ReadBody(c)
	if err != nil {
		return err
	}
	var body inflowBody
	if err := problem.Decode(sent, &body); err != nil {
		return err
	}
	n := body.InflowPerSecond
	if fieldsOf(sent)["inflow_per_second"] == nil || n != nil && (*n < 0 || *n > queue.MaxNumber) {
		return problem.ErrInvalidBody.With("inflow_per_second must be a number from 0 to 1000000000, or null.")
	}
	if n != nil {
		*n += 0 // -0 is 0
	}
	return a.act(c, act{action: queue.SetInflow, reason: body.Reason, order: queue.SwitchOrder{Inflow: n}})
}

// act checks what the contract asks for, has the line do it, and tells everybody. Repeating what has taken effect
// changes nothing and is answered the same.
func (a *Admin) act(c *gin.Context, x act) error {
	ctx := c.Request.Context()
	var err error
	if x.item, err = itemOf(c); err != nil {
		return err
	}
	if len(x.reason) > 500 {
		return problem.ErrInvalidBody.With("reason must be a text of at most 500 bytes.")
	}
	if x.order.Key, err = idempotencyKey(c, x.action); err != nil {
		return err
	}
	now := a.o.Settings.Now()
	_, policy := now.For(x.item)
	if policy.Mode != queue.ModeAuto && (x.action == queue.Activate || x.action == queue.Deactivate) {
		return queue.ErrModeFixed.With(fmt.Sprintf("The policy's mode is %s, which fixes this queue; change the policy.", policy.Mode))
	}
	if x.before, err = a.look(ctx, x.item); err != nil {
		return err
	}
	if err := x.allowed(); err != nil {
		return err
	}
	x.order.Action, x.order.Limits, x.order.Cause, x.order.By = x.action, now.Limits(x.item), queue.ByOperator, who(c).name
	if a.o.Reserved != nil && !x.before.Header.On() {
		x.order.Reserved = a.o.Reserved(ctx, x.item)
	}
	report, err := a.o.Line.Switch(ctx, x.item, x.order)
	if err != nil {
		return err
	}
	if report.Changed {
		a.tell(x, report)
		a.audit(ctx, entry(c, "item."+string(x.action), string(x.item), x.reason, headerView(report.Before), x.after(report)))
	}
	a.seen(report.Header)
	c.JSON(http.StatusOK, struct {
		itemView
		Changed bool  `json:"changed"`
		Left    int64 `json:"left"` // places that this ended
	}{a.view(ctx, x.item), report.Changed, report.Left})
	return nil
}

// allowed checks the state, and then whether it was confirmed.
func (x act) allowed() error {
	h := x.before.Header
	_, changes, err := h.State.Next(x.action, h.Draining)
	if err != nil {
		return err
	}
	if x.ask == nil || !changes || x.given == string(x.item) {
		return nil
	}
	question := x.ask(x.before)
	if question == "" {
		return nil
	}
	return &problem.Effect{
		Err:     errConfirm.With(fmt.Sprintf(`%s Send {"confirm": %q} to do it.`, question, x.item)),
		Numbers: map[string]int64{"waiting": x.before.Counts.Waiting, "running": x.before.Counts.Running},
	}
}

// after is what the audit says of the outcome.
func (x act) after(r queue.SwitchReport) map[string]any {
	v := headerView(r.Header)
	switch x.action {
	case queue.Admit:
		v["count"] = x.order.Count
	case queue.Deactivate, queue.Close, queue.Reset:
		v["left"] = r.Left
	}
	return v
}

func headerView(h queue.Header) map[string]any {
	return map[string]any{"state": h.State, "draining": h.Draining, "generation": h.Generation, "override": h.Override}
}

// tell publishes the events of a change.
func (a *Admin) tell(x act, r queue.SwitchReport) {
	at := a.o.Clock.Now()
	publish := func(kind string, h queue.Header, counts *queue.Counts, reason string) {
		a.o.Events.Publish(Event{Type: kind, Item: x.item, Time: at, Header: &h, Counts: counts, Reason: reason})
	}
	if r.Before.On() && r.Header.Generation != r.Before.Generation { // a reset: the books of the one before are gone
		ended := r.Before
		ended.Version = r.Header.Version // of the change that ended it, as the other nodes tell it
		publish(QueueReleased, ended, nil, "reset")
	}
	if r.Header.On() && r.Header.Generation != r.Before.Generation {
		publish(QueueActivated, r.Header, nil, "")
	}
	switch x.action {
	case queue.Deactivate:
		publish(QueueReleased, r.Header, &r.Counts, "deactivated")
	case queue.Pause:
		publish(QueuePaused, r.Header, nil, "")
	case queue.Resume:
		publish(QueueResumed, r.Header, nil, "")
	case queue.Close:
		publish(QueueClosed, r.Header, nil, "")
	}
}

// idempotencyKey reads Idempotency-Key, which admit and reset heed. The same key means another thing for another action.
func idempotencyKey(c *gin.Context, action queue.Action) (string, error) {
	key := c.GetHeader("Idempotency-Key")
	if key == "" || action != queue.Admit && action != queue.Reset {
		return "", nil
	}
	if len(key) > 100 || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errParameter.With("Idempotency-Key must be 1 to 100 printable characters without spaces.")
	}
	return string(action) + ":" + key, nil
}
