package stack_test

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/sluicehq/sluice/internal/oteltest"
	"github.com/sluicehq/sluice/internal/redisserver"
	"github.com/sluicehq/sluice/internal/testprogram"
)

func TestTheCollectorTakesItsConfiguration(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), testprogram.Find(t, oteltest.Collector), "validate", "--config", "otel/collector.yaml").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Whatever a node samples, the collector keeps every trace with an error, an admission or a write in it, and a share of the rest.
func TestTheCollectorKeepsErrorsAdmissionsAndWrites(t *testing.T) {
	t.Parallel()
	to := oteltest.NewReceiver(t)
	grpc, err := redisserver.FreeAddr()
	if err != nil {
		t.Fatal(err)
	}
	http, err := redisserver.FreeAddr()
	if err != nil {
		t.Fatal(err)
	}
	oteltest.StartCollector(t, changed(t, "otel/collector.yaml", "0.0.0.0:4317", grpc, "0.0.0.0:4318", http, "jaeger:4317", to.Address, "decision_wait: 30s", "decision_wait: 1s"), grpc)
	exporter, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpoint(http), otlptracehttp.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	const others = 1000
	traces := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter, sdktrace.WithMaxQueueSize(4*others)))
	ctx, tracer := context.Background(), traces.Tracer("test")
	for i := range others {
		_, span := tracer.Start(ctx, "other")
		span.SetAttributes(attribute.String("http.request.method", "GET"))
		span.End()
		if i%10 > 0 {
			continue
		}
		inside, around := tracer.Start(ctx, "around the failed")
		_, failed := tracer.Start(inside, "failed")
		failed.SetStatus(codes.Error, "")
		failed.End()
		around.End()
		for name, what := range map[string]attribute.KeyValue{
			"admission": attribute.String("sluice.outcome", "admitted"), "write": attribute.String("http.request.method", "PUT"),
		} {
			_, span := tracer.Start(ctx, name)
			span.SetAttributes(what)
			span.End()
		}
	}
	if err := traces.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	late := time.Now().Add(30 * time.Second)
	for {
		names := map[string]int{}
		for _, s := range to.Spans() {
			names[s.Name]++
		}
		whole := names["failed"] == others/10 && names["around the failed"] == others/10 && names["admission"] == others/10 && names["write"] == others/10
		if n := names["other"]; whole && n > others/20 && n < others/5 {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("of %d failed, admitted and written each, and of %d others: %s", others/10, others, strings.TrimPrefix(fmt.Sprint(names), "map"))
		}
		select {
		case <-t.Context().Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}
