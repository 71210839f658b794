// Package otellog writes the lines of log/slog so that they are found again: as JSON after the log data model of
// OpenTelemetry, or as text, each with the ids of the trace and the span within which it was written.
package otellog

import (
	"context"
	"io"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel/trace"
)

// JSON writes lines after the log data model (https://opentelemetry.io/docs/specs/otel/logs/data-model/): Timestamp,
// SeverityText, SeverityNumber, Body, TraceId, SpanId, TraceFlags, Attributes, Resource. Resource says who writes.
func JSON(w io.Writer, level slog.Leveler, resource ...slog.Attr) slog.Handler {
	names := map[string]string{slog.TimeKey: "Timestamp", slog.LevelKey: "SeverityText", slog.MessageKey: "Body"}
	h := slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if name, ok := names[a.Key]; ok && len(groups) == 0 {
			a.Key = name
		}
		return a
	}})
	return model{out: h, resource: slog.Attr{Key: "Resource", Value: slog.GroupValue(resource...)}}
}

type model struct {
	out      slog.Handler
	resource slog.Attr
	groups   []group // the innermost last; the first has no name
}

// group are attributes that stand under a name.
type group struct {
	name  string
	attrs []slog.Attr
}

// Enabled reports whether lines of a level are written.
func (m model) Enabled(ctx context.Context, l slog.Level) bool { return m.out.Enabled(ctx, l) }

// Handle writes a line.
func (m model) Handle(ctx context.Context, r slog.Record) error {
	line := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	line.AddAttrs(slog.Int("SeverityNumber", int(r.Level)+9)) // DEBUG 5, INFO 9, WARN 13, ERROR 17
	if c := trace.SpanContextFromContext(ctx); c.IsValid() {
		line.AddAttrs(slog.String("TraceId", c.TraceID().String()), slog.String("SpanId", c.SpanID().String()), slog.String("TraceFlags", c.TraceFlags().String()))
	}
	var attrs []slog.Attr
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	for _, g := range slices.Backward(m.groups) {
		attrs = slices.Concat(g.attrs, attrs)
		if g.name != "" {
			attrs = []slog.Attr{{Key: g.name, Value: slog.GroupValue(attrs...)}}
		}
	}
	line.AddAttrs(slog.Attr{Key: "Attributes", Value: slog.GroupValue(attrs...)}, m.resource)
	return m.out.Handle(ctx, line)
}

// WithAttrs gives the log with more in each line.
func (m model) WithAttrs(attrs []slog.Attr) slog.Handler {
	m.groups = slices.Clone(m.groups)
	if len(m.groups) == 0 {
		m.groups = []group{{}}
	}
	last := &m.groups[len(m.groups)-1]
	last.attrs = slices.Concat(last.attrs, attrs)
	return m
}

// WithGroup gives the log with what follows in a group.
func (m model) WithGroup(name string) slog.Handler {
	if name != "" {
		m.groups = append(slices.Clone(m.groups), group{name: name})
	}
	return m
}

// Text writes lines as log/slog does, with trace_id and span_id.
func Text(w io.Writer, level slog.Leveler) slog.Handler {
	return text{slog.NewTextHandler(w, &slog.HandlerOptions{Level: level})}
}

type text struct{ slog.Handler }

// Handle writes a line.
func (t text) Handle(ctx context.Context, r slog.Record) error {
	if c := trace.SpanContextFromContext(ctx); c.IsValid() {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", c.TraceID().String()), slog.String("span_id", c.SpanID().String()))
	}
	return t.Handler.Handle(ctx, r)
}

// WithAttrs gives the log with more in each line.
func (t text) WithAttrs(attrs []slog.Attr) slog.Handler { return text{t.Handler.WithAttrs(attrs)} }

// WithGroup gives the log with what follows in a group.
func (t text) WithGroup(name string) slog.Handler { return text{t.Handler.WithGroup(name)} }
