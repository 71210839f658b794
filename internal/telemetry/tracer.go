package telemetry

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/sluicehq/sluice/pass"
	"github.com/sluicehq/sluice/queue"
)

// Tracer decides what is traced, and makes the spans. A nil Tracer traces nothing.
//
// A visitor's whole wait is one trace. Its id, and that of the span around it, follow from item, visitor and generation,
// which ticket and pass carry: so every node that is asked by this visitor, and the mover that lets the visitor in, make
// spans of one trace without telling each other anything, and all of them decide alike whether it is sampled.
type Tracer struct {
	tracer trace.Tracer
	share  float64 // of what is traced, 0 to 1
}

// Tracer gives the tracer, nil where spans are not to be sent.
func (x *Export) Tracer() *Tracer {
	if x == nil || x.spans == nil {
		return nil
	}
	return &Tracer{tracer: x.spans.Tracer(scope), share: x.ratio}
}

// drawn reports whether something that belongs to no trace yet is to be traced.
func (t *Tracer) drawn() bool { return rand.Float64() < t.share }

// wait is the span around a visitor's wait, which nobody has made yet; false where it is not among those that are traced.
func (t *Tracer) wait(item queue.Item, v queue.Visitor, g queue.Generation) (around trace.SpanContext, sampled bool) {
	of := pass.TraceOf(string(item), string(v), int64(g))
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: of.ID, SpanID: of.Span, TraceFlags: trace.FlagsSampled, Remote: true}), of.Sampled(t.share)
}

var w3c propagation.TraceContext

// Requests is around each request of a listener. A caller's own trace goes on, if it is sampled; otherwise writes are
// traced where writes is set, and of all others the share that is to be. Where later is set, that is left to Visit.
func (t *Tracer) Requests(later, writes bool) gin.HandlerFunc {
	return func(c *gin.Context) {
		r := c.Request
		if !t.continues(c) && !later && (writes && r.Method != http.MethodGet && r.Method != http.MethodHead || t.drawn()) {
			t.begin(r, r.Context())
		}
		c.Next()
		span := trace.SpanFromContext(c.Request.Context())
		if !span.IsRecording() {
			return
		}
		status := c.Writer.Status()
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
		}
		if route := template(c.FullPath()); route != "" {
			span.SetName(method(r) + " " + route)
			span.SetAttributes(attribute.String("http.route", route))
		}
		span.End()
	}
}

// continues goes on with the caller's trace, as far as it is sampled, and tells the caller; false where the request has none,
// or one that nobody can read: W3C has a new one begun then.
func (t *Tracer) continues(c *gin.Context) bool {
	r := c.Request
	if len(r.Header["Traceparent"]) == 0 { // as most, which cost no more than this look
		return false
	}
	ctx := w3c.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	caller := trace.SpanContextFromContext(ctx)
	if !caller.IsValid() {
		return false
	}
	if !caller.IsSampled() {
		ours := caller.WithSpanID(trace.SpanID(binary.BigEndian.AppendUint64(nil, rand.Uint64()|1)))
		w3c.Inject(trace.ContextWithSpanContext(r.Context(), ours), propagation.HeaderCarrier(c.Writer.Header()))
		*r = *r.WithContext(context.WithValue(r.Context(), unsampled{}, true))
		return true
	}
	w3c.Inject(t.begin(r, ctx), propagation.HeaderCarrier(c.Writer.Header()))
	return true
}

// unsampled marks the context of a request whose caller has decided against.
type unsampled struct{}

// begin makes the span of a request.
func (t *Tracer) begin(r *http.Request, ctx context.Context) context.Context {
	name := method(r)
	ctx, _ = t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attribute.String("http.request.method", name)))
	*r = *r.WithContext(ctx)
	return ctx
}

// Visit is told who asks, as soon as a request says so, and which line the visitor stands or will stand in (generation 0 =
// none): from here on the request may be traced.
func (t *Tracer) Visit(r *http.Request, item queue.Item, v queue.Visitor, g queue.Generation) {
	if t == nil {
		return
	}
	span := trace.SpanFromContext(r.Context())
	switch {
	case span.IsRecording():
		if g != 0 {
			around, _ := t.wait(item, v, g)
			span.AddLink(trace.Link{SpanContext: around})
		}
	case len(r.Header["Traceparent"]) > 0 && r.Context().Value(unsampled{}) != nil: // the header is the cheaper look
		return
	case g == 0:
		if !t.drawn() {
			return
		}
		t.begin(r, r.Context())
	default:
		around, sampled := t.wait(item, v, g)
		if !sampled {
			return
		}
		t.begin(r, trace.ContextWithRemoteSpanContext(r.Context(), around))
	}
	trace.SpanFromContext(r.Context()).SetAttributes(attribute.String("sluice.item", string(item)), attribute.Int64("sluice.generation", int64(g)))
}

// Said puts what a visitor was answered on the span of the request.
func (t *Tracer) Said(ctx context.Context, action, reason string) {
	if t == nil {
		return
	}
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.SetAttributes(attribute.String("sluice.action", action), attribute.String("sluice.reason", reason))
	}
}

// Waited makes the span around the wait of one who was let in, and gives its trace's id; "" where it is not sampled.
func (t *Tracer) Waited(item queue.Item, v queue.Visitor, g queue.Generation, from, until time.Time) string {
	if t == nil {
		return ""
	}
	around, sampled := t.wait(item, v, g)
	if !sampled {
		return ""
	}
	_, span := t.tracer.Start(context.WithValue(context.Background(), given{}, around), "wait", trace.WithTimestamp(from),
		trace.WithAttributes(attribute.String("sluice.item", string(item)), attribute.Int64("sluice.generation", int64(g)), attribute.String("sluice.outcome", "admitted")))
	span.End(trace.WithTimestamp(until))
	return around.TraceID().String()
}

// Inside makes a span within that of a request; where that is not traced there is none.
func (t *Tracer) Inside(ctx context.Context, name string, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	if t == nil || !trace.SpanFromContext(ctx).IsRecording() {
		return ctx, nil
	}
	return t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
}

// Begin makes a span of what happens by itself: within that of ctx, or of its own if it is drawn. Always: of its own in any case.
func (t *Tracer) Begin(ctx context.Context, name string, always bool, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	if t == nil || !always && !trace.SpanFromContext(ctx).IsRecording() && !t.drawn() {
		return ctx, nil
	}
	return t.tracer.Start(ctx, name, trace.WithAttributes(attributes...))
}

// Happened makes the span of a call to elsewhere that is over, in a trace of its own, if it failed or is drawn.
func (t *Tracer) Happened(name string, from, until time.Time, err error, attributes ...attribute.KeyValue) {
	if t == nil || err == nil && !t.drawn() {
		return
	}
	_, span := t.tracer.Start(context.Background(), name, trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(from), trace.WithAttributes(attributes...))
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End(trace.WithTimestamp(until))
}

// End ends a span of Inside or Begin, with what went wrong.
func End(span trace.Span, err error, attributes ...attribute.KeyValue) {
	if span == nil {
		return
	}
	span.SetAttributes(attributes...)
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}

// method is the request's method, _OTHER for one that is made up.
func method(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return r.Method
	}
	return "_OTHER"
}

// template is a route as the conventions write it: /v1/items/{item}/check.
func template(route string) string {
	if !strings.ContainsAny(route, ":*") {
		return route
	}
	parts := strings.Split(route, "/")
	for i, p := range parts {
		if p != "" && (p[0] == ':' || p[0] == '*') {
			parts[i] = "{" + p[1:] + "}"
		}
	}
	return strings.Join(parts, "/")
}

// given is the context's key of the ids that a span is to have.
type given struct{}

// ids makes the ids of spans: random ones, or those that the context gives.
type ids struct{}

// NewIDs makes the ids of a span that begins a trace.
func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if c, ok := ctx.Value(given{}).(trace.SpanContext); ok {
		return c.TraceID(), c.SpanID()
	}
	var id trace.TraceID
	binary.BigEndian.PutUint64(id[:8], rand.Uint64())
	binary.BigEndian.PutUint64(id[8:], rand.Uint64()|1)
	return id, ids{}.NewSpanID(ctx, id)
}

// NewSpanID makes the id of a span within a trace.
func (ids) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	binary.BigEndian.PutUint64(id[:], rand.Uint64()|1)
	return id
}
