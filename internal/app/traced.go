package app

import (
	"context"
	"errors"
	"time"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/sluicehq/sluice/admin/webhook"
	"github.com/sluicehq/sluice/internal/telemetry"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/batch"
	"github.com/sluicehq/sluice/queue/heal"
)

// around measures the requests of a listener, and traces them where anything is traced.
func (a *App) around(measure gin.HandlerFunc, later, writes bool) []gin.HandlerFunc {
	if a.traces == nil {
		return []gin.HandlerFunc{measure}
	}
	return []gin.HandlerFunc{measure, a.traces.Requests(later, writes)}
}

// script are the attributes of a call of a line's script, by the conventions for databases.
func script(name string, item queue.Item) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("db.system.name", "redis"), attribute.String("db.operation.name", "EVALSHA"), attribute.String("db.stored_procedure.name", name),
		attribute.String("sluice.item", string(item)),
	}
}

// webhookTried makes the span of a try to send a message to a webhook. Where to is not in it: such addresses often hold a secret.
func (a *App) webhookTried(r webhook.Result) {
	now := time.Now()
	var err error
	if !r.Taken() {
		err = errors.New(r.Error)
	}
	a.traces.Happened("send webhook", now.Add(-r.Took), now, err, attribute.String("http.request.method", "POST"),
		attribute.Int("http.response.status_code", r.Status), attribute.String("messaging.destination.name", "webhook"))
}

// outcomes are those of an ask, in words.
var outcomes = map[queue.Outcome]string{
	queue.NoQueue: "no queue", queue.NoPlace: "no place", queue.Waiting: "waiting", queue.Inside: "inside", queue.Full: "full", queue.NotOpen: "not open",
}

func outcome(word string) attribute.KeyValue { return attribute.String("sluice.outcome", word) }

// tracedAsks are asks with a span each.
type tracedAsks struct {
	*batch.Asks
	traces *telemetry.Tracer
}

// Ask asks the line.
func (t tracedAsks) Ask(ctx context.Context, item queue.Item, ask queue.Ask) (batch.Reply, error) {
	ctx, span := t.traces.Inside(ctx, "script join")
	if span == nil {
		return t.Asks.Ask(ctx, item, ask)
	}
	r, err := t.Asks.Ask(ctx, item, ask)
	telemetry.End(span, err, append(script("join", item), outcome(outcomes[r.Answer.Outcome]))...)
	return r, err
}

// traced is a line with a span for each of its changes.
type traced struct {
	line
	traces *telemetry.Tracer
}

// End ends what a visitor has.
func (t traced) End(ctx context.Context, item queue.Item, e queue.Ending) (queue.EndReport, error) {
	ctx, span := t.traces.Inside(ctx, "script end")
	r, err := t.line.End(ctx, item, e)
	if span != nil {
		word := "nothing to end"
		switch {
		case r.WasWaiting:
			word = "left the line"
		case r.WasRunning:
			word = "session ended"
		}
		telemetry.End(span, err, append(script("end", item), outcome(word))...)
	}
	return r, err
}

// Switch does what is ordered to an item's queue.
func (t traced) Switch(ctx context.Context, item queue.Item, o queue.SwitchOrder) (queue.SwitchReport, error) {
	ctx, span := t.traces.Inside(ctx, "script switch")
	r, err := t.line.Switch(ctx, item, o)
	if span != nil {
		telemetry.End(span, err, append(script("switch", item), attribute.String("sluice.order", string(o.Action)), outcome(r.Header.State.String()))...)
	}
	return r, err
}

// tracedSales is a line whose steps of sales have a span each, always: there are few, and people look for them.
type tracedSales struct {
	*heal.Line
	traces *telemetry.Tracer
}

// Switch does a step of a sale.
func (t tracedSales) Switch(ctx context.Context, item queue.Item, o queue.SwitchOrder) (queue.SwitchReport, error) {
	ctx, step := t.traces.Begin(ctx, "sale step", true, attribute.String("sluice.item", string(item)), attribute.String("sluice.order", string(o.Action)))
	ctx, call := t.traces.Inside(ctx, "script switch")
	r, err := t.Line.Switch(ctx, item, o)
	if step != nil {
		telemetry.End(call, err, script("switch", item)...)
		telemetry.End(step, err, outcome(r.Header.State.String()))
	}
	return r, err
}

// tracedSteps is a line whose steps in batches have a span.
type tracedSteps struct {
	*heal.Line
	traces *telemetry.Tracer
}

// StepMany steps the items.
func (t tracedSteps) StepMany(ctx context.Context, items []queue.Item, orders []queue.StepOrder) ([]queue.StepReport, []error) {
	ctx, tick := t.traces.Begin(ctx, "mover tick", false, attribute.Int("sluice.items", len(items)))
	var call trace.Span
	if tick != nil {
		ctx, call = t.traces.Inside(ctx, "script step")
	}
	reports, errs := t.Line.StepMany(ctx, items, orders)
	if tick == nil {
		return reports, errs
	}
	var failed error
	admitted, ended := 0, int64(0)
	for i, r := range reports {
		admitted, ended = admitted+len(r.Admitted), ended+r.Finished+r.NoShow+r.Abandoned
		if errs[i] != nil {
			failed = errs[i]
		}
	}
	did := []attribute.KeyValue{attribute.Int("sluice.admitted", admitted), attribute.Int64("sluice.ended", ended)}
	telemetry.End(call, failed, append(script("step", items[0]), did...)...)
	telemetry.End(tick, failed, did...)
	return reports, errs
}
