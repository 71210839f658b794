package otellog

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"testing/slogtest"

	"go.opentelemetry.io/otel/trace"
)

var within = trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
	TraceID: trace.TraceID{1, 2}, SpanID: trace.SpanID{3}, TraceFlags: trace.FlagsSampled,
}))

func TestALineFollowsTheLogModel(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(JSON(&out, slog.LevelInfo, slog.String("service.name", "sluice")))
	log.Debug("not this one")
	log.With("node", "a").WithGroup("call").With("took_ms", 7).ErrorContext(within, "store call failed", "item", "sku-1", "msg", "stays")
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if _, there := got["Timestamp"].(string); !there {
		t.Errorf("no time: %v", got)
	}
	delete(got, "Timestamp")
	want := map[string]any{
		"SeverityText": "ERROR", "SeverityNumber": 17.0, "Body": "store call failed",
		"TraceId": "01020000000000000000000000000000", "SpanId": "0300000000000000", "TraceFlags": "01",
		"Attributes": map[string]any{"node": "a", "call": map[string]any{"took_ms": 7.0, "item": "sku-1", "msg": "stays"}},
		"Resource":   map[string]any{"service.name": "sluice"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}

func TestATextLineHasTheIdsOfItsTrace(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(Text(&out, slog.LevelInfo))
	log.InfoContext(within, "one")
	log.Info("two")
	first, second, _ := strings.Cut(out.String(), "\n")
	if !strings.Contains(first, "trace_id=01020000000000000000000000000000 span_id=0300000000000000") || strings.Contains(second, "trace") {
		t.Error(out.String())
	}
}

// What log/slog asks of every handler holds for what stands under Attributes.
func TestTheHandlerIsOne(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	results := func() []map[string]any {
		var all []map[string]any
		for line := range bytes.Lines(out.Bytes()) {
			var l struct {
				Timestamp, SeverityText, Body any
				Attributes                    map[string]any
			}
			if err := json.Unmarshal(line, &l); err != nil {
				t.Fatal(err)
			}
			flat := map[string]any{slog.LevelKey: l.SeverityText, slog.MessageKey: l.Body}
			if l.Timestamp != nil {
				flat[slog.TimeKey] = l.Timestamp
			}
			for k, v := range l.Attributes {
				flat[k] = v
			}
			all = append(all, flat)
		}
		return all
	}
	if err := slogtest.TestHandler(JSON(&out, slog.LevelInfo), results); err != nil {
		t.Error(err)
	}
}
