package admin

import (
	"context"
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

// ItemOrder is an action on one item's queue, as an operator asks for it.
type ItemOrder struct {
	Item    queue.Item
	Action  queue.Action
	Reason  string   // for the audit; at most 500 bytes
	Confirm string   // the item's name, where the action ends what people have
	Count   int64    // Admit
	Inflow  *float64 // SetInflow; nil = that of the policy
	Key     string   // makes Admit and Reset take effect once; "" = none
}

// asks are the questions of the actions that need to be confirmed: what it would cost whom, "" where there is nothing
// to ask.
var asks = map[queue.Action]func(queue.Snapshot) string{
	queue.Deactivate: askDeactivate, queue.Close: askClose, queue.Reset: askReset,
}

// plain is POST /items/{item}/activate, drain, pause, resume.
func (a *Admin) plain(action queue.Action) gin.HandlerFunc {
	return problem.Handle(func(c *gin.Context) error {
		var body plainBody
		if err := problem.ReadOptionalJSON(c, &body); err != nil {
			return err
		}
		return a.act(c, ItemOrder{Action: action, Reason: body.Reason})
	})
}

// confirmed is POST /items/{item}/deactivate, close, reset.
func (a *Admin) confirmed(action queue.Action) gin.HandlerFunc {
	return problem.Handle(func(c *gin.Context) error {
		var body confirmBody
		if err := problem.ReadOptionalJSON(c, &body); err != nil {
			return err
		}
		return a.act(c, ItemOrder{Action: action, Reason: body.Reason, Confirm: body.Confirm})
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
	return a.act(c, ItemOrder{Action: queue.Admit, Reason: body.Reason, Count: body.Count})
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
	if fieldsOf(sent)["inflow_per_second"] == nil {
		return errInflow
	}
	return a.act(c, ItemOrder{Action: queue.SetInflow, Reason: body.Reason, Inflow: body.InflowPerSecond})
}

// act is the action of a request: it reads the item and the key, and answers with the item as it is afterwards.
func (a *Admin) act(c *gin.Context, o ItemOrder) error {
	ctx := c.Request.Context()
	var err error
	if o.Item, err = itemOf(c); err != nil {
		return err
	}
	if o.Key, err = idempotencyKey(c, o.Action); err != nil {
		return err
	}
	report, err := a.Act(ctx, who(c), o)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, struct {
		itemView
		Changed bool  `json:"changed"`
		Left    int64 `json:"left"` // places that this ended
	}{a.view(ctx, o.Item), report.Changed, report.Left})
	return nil
}

// Act checks what the contract asks for, has the line do it, tells everybody, and notes it in the audit. Repeating what
// has taken effect changes nothing. A problem.Effect where it is to be confirmed: it says in numbers what it would do.
func (a *Admin) Act(ctx context.Context, by Identity, o ItemOrder) (queue.SwitchReport, error) {
	if err := o.validate(); err != nil {
		return queue.SwitchReport{}, err
	}
	now := a.o.Settings.Now()
	_, policy := now.For(o.Item)
	if policy.Mode != queue.ModeAuto && (o.Action == queue.Activate || o.Action == queue.Deactivate) {
		return queue.SwitchReport{}, queue.ErrModeFixed.With(fmt.Sprintf("The policy's mode is %s, which fixes this queue; change the policy.", policy.Mode))
	}
	before, err := a.look(ctx, o.Item)
	if err != nil {
		return queue.SwitchReport{}, err
	}
	if err := o.allowed(before); err != nil {
		return queue.SwitchReport{}, err
	}
	order := queue.SwitchOrder{
		Action: o.Action, Limits: now.LimitsAt(o.Item, a.o.Clock.Now().UnixMilli()), Cause: queue.ByOperator, By: by.Name, Count: o.Count, Inflow: o.Inflow, Key: o.Key,
	}
	if a.o.Reserved != nil && !before.Header.On() {
		order.Reserved = a.o.Reserved(ctx, o.Item)
	}
	report, err := a.o.Line.Switch(ctx, o.Item, order)
	if err != nil {
		return report, err
	}
	if report.Changed {
		a.tell(o, report)
		a.audit(ctx, Entry(by, "item."+string(o.Action), string(o.Item), o.Reason, headerView(report.Before), o.after(report)))
	}
	a.seen(report.Header)
	return report, nil
}

var errInflow = problem.ErrInvalidBody.With("inflow_per_second must be a number from 0 to 1000000000, or null.")

// validate checks what was sent.
func (o *ItemOrder) validate() error {
	switch {
	case len(o.Reason) > 500:
		return problem.ErrInvalidBody.With("reason must be a text of at most 500 bytes.")
	case o.Action == queue.Admit && (o.Count < 1 || o.Count > queue.MaxNumber):
		return problem.ErrInvalidBody.With("count must be a whole number from 1 to 1000000000.")
	case o.Action == queue.SetInflow && o.Inflow != nil:
		n := *o.Inflow + 0 // -0 is 0
		if !(n >= 0 && n <= queue.MaxNumber) {
			return errInflow
		}
		o.Inflow = &n
	}
	return nil
}

// allowed checks the state, and then whether it was confirmed.
func (o *ItemOrder) allowed(before queue.Snapshot) error {
	h := before.Header
	_, changes, err := h.State.Next(o.Action, h.Draining)
	if err != nil {
		return err
	}
	ask := asks[o.Action]
	if ask == nil || !changes || o.Confirm == string(o.Item) {
		return nil
	}
	question := ask(before)
	if question == "" {
		return nil
	}
	return &problem.Effect{
		Err:     errConfirm.With(fmt.Sprintf(`%s Send {"confirm": %q} to do it.`, question, o.Item)),
		Numbers: map[string]int64{"waiting": before.Counts.Waiting, "running": before.Counts.Running},
	}
}

// after is what the audit says of the outcome.
func (o *ItemOrder) after(r queue.SwitchReport) map[string]any {
	v := headerView(r.Header)
	switch o.Action {
	case queue.Admit:
		v["count"] = o.Count
	case queue.Deactivate, queue.Close, queue.Reset:
		v["left"] = r.Left
	}
	return v
}

func headerView(h queue.Header) map[string]any {
	return map[string]any{"state": h.State, "draining": h.Draining, "generation": h.Generation, "override": h.Override}
}

// tell publishes the events of a change.
func (a *Admin) tell(o ItemOrder, r queue.SwitchReport) {
	at := a.o.Clock.Now()
	publish := func(kind string, h queue.Header, ended *queue.Ended, reason string) {
		a.o.Events.Publish(Event{Type: kind, Item: o.Item, Time: at, Header: &h, Ended: ended, Reason: reason})
	}
	if r.Before.On() && r.Header.Generation != r.Before.Generation { // a reset
		ended := r.Before
		ended.Version = r.Header.Version // of the change that ended it, as the other nodes tell it
		publish(QueueReleased, ended, r.Ended, "reset")
	}
	if r.Header.On() && r.Header.Generation != r.Before.Generation {
		publish(QueueActivated, r.Header, nil, "")
	}
	switch o.Action {
	case queue.Deactivate:
		publish(QueueReleased, r.Header, r.Ended, "deactivated")
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
