package telemetry

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/XSAM/otelsql"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// scope names what makes the spans and log records.
const scope = "github.com/sluicehq/sluice"

// Export sends spans, log records and metrics to where the standard variables of OpenTelemetry say. It is safe for use
// by many goroutines.
type Export struct {
	spans    *sdktrace.TracerProvider
	logs     *sdklog.LoggerProvider
	resource *resource.Resource
	ratio    float64
	ended    atomic.Int64 // spans that were to be sent
	handed   atomic.Int64 // of these, to the exporter
	failed   atomic.Int64 // of these, in vain
	lost     atomic.Int64 // the most that the queue has not taken so far

	metrics *sdkmetric.MeterProvider
}

// mostSpans is how many spans wait to be sent; more are dropped.
const mostSpans = 2048

// OpenExport reads the variables. Nothing is sent where none of them says so: OTEL_TRACES_EXPORTER, OTEL_LOGS_EXPORTER and
// OTEL_METRICS_EXPORTER (otlp, console, none), or OTEL_EXPORTER_OTLP_ENDPOINT and those of one signal, which turn otlp
// on; by http/protobuf unless OTEL_EXPORTER_OTLP_PROTOCOL is grpc. Node names the process, ratio is the share of requests
// that are traced where their caller did not decide.
func OpenExport(ctx context.Context, node string, ratio float64) (*Export, error) {
	x := &Export{ratio: ratio}
	if os.Getenv("OTEL_SDK_DISABLED") == "true" {
		return x, nil
	}
	var err error
	if x.resource, err = resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "sluice"), attribute.String("service.version", Version()), attribute.String("service.instance.id", node),
	), resource.WithFromEnv(), resource.WithTelemetrySDK()); err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	if wanted("TRACES") {
		exporter, err := autoexport.NewSpanExporter(ctx)
		if err != nil {
			return nil, fmt.Errorf("OTEL_TRACES_EXPORTER: %w", err)
		}
		if !autoexport.IsNoneSpanExporter(exporter) {
			// What is sampled is decided before a span is made: the SDK takes all that come.
			x.spans = sdktrace.NewTracerProvider(sdktrace.WithResource(x.resource), sdktrace.WithSampler(sdktrace.AlwaysSample()),
				sdktrace.WithIDGenerator(ids{}), sdktrace.WithSpanProcessor(counting{x, sdktrace.NewBatchSpanProcessor(sending{exporter, x},
					sdktrace.WithMaxQueueSize(mostSpans), sdktrace.WithExportTimeout(10*time.Second))}))
		}
	}
	if wanted("LOGS") {
		exporter, err := autoexport.NewLogExporter(ctx)
		if err != nil {
			return nil, fmt.Errorf("OTEL_LOGS_EXPORTER: %w", err)
		}
		if !autoexport.IsNoneLogExporter(exporter) {
			x.logs = sdklog.NewLoggerProvider(sdklog.WithResource(x.resource), sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter)))
		}
	}
	return x, nil
}

// wanted reports whether a signal is to be sent.
func wanted(signal string) bool {
	for _, name := range []string{"OTEL_" + signal + "_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_" + signal + "_ENDPOINT"} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
}

// Quiet has the SDK's own complaints told to a log, at most one a minute: a receiver that is away would fill it.
func (x *Export) Quiet(log *slog.Logger) {
	var last atomic.Int64
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		now := time.Now().Unix()
		if was := last.Load(); now-was >= 60 && last.CompareAndSwap(was, now) {
			log.Warn("telemetry not sent", "err", err)
		}
	}))
}

// OpenDB makes a database whose calls have a span each, within that of a request that is traced; it stands in for sql.OpenDB. System is
// its name by the conventions: sqlite or postgresql.
func (x *Export) OpenDB(system string) func(driver.Connector) *sql.DB {
	if x == nil || x.spans == nil {
		return sql.OpenDB
	}
	return func(c driver.Connector) *sql.DB {
		return otelsql.OpenDB(c, otelsql.WithTracerProvider(x.spans), otelsql.WithAttributes(attribute.String("db.system.name", system)),
			otelsql.WithSpanOptions(otelsql.SpanOptions{
				OmitConnResetSession: true, OmitConnPrepare: true, OmitRows: true, OmitConnectorConnect: true, DisableErrSkip: true,
				SpanFilter: func(ctx context.Context, _ otelsql.Method, _ string, _ []driver.NamedValue) bool {
					return trace.SpanFromContext(ctx).IsRecording()
				},
			}))
	}
}

// LogHandler gives the handler that sends log records, nil where they are not to be sent.
func (x *Export) LogHandler() slog.Handler {
	if x == nil || x.logs == nil {
		return nil
	}
	return otelslog.NewHandler(scope, otelslog.WithLoggerProvider(x.logs))
}

// SendMetrics begins to send metrics too, if they are to be sent.
func (x *Export) SendMetrics(ctx context.Context, from prometheus.Gatherer) error {
	if x == nil || x.resource == nil || !wanted("METRICS") {
		return nil
	}
	autoexport.WithFallbackMetricProducer(func(context.Context) (sdkmetric.Producer, error) {
		return bridge.NewMetricProducer(bridge.WithGatherer(from)), nil
	})
	reader, err := autoexport.NewMetricReader(ctx)
	if err != nil {
		return fmt.Errorf("OTEL_METRICS_EXPORTER: %w", err)
	}
	x.metrics = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(x.resource))
	return nil
}

// Dropped is how many spans were not sent.
func (x *Export) Dropped() int64 {
	if x == nil {
		return 0
	}
	// What the queue cannot hold it has dropped; it does not say so itself.
	over := x.ended.Load() - x.handed.Load() - mostSpans
	for was := x.lost.Load(); over > was && !x.lost.CompareAndSwap(was, over); was = x.lost.Load() {
	}
	return x.lost.Load() + x.failed.Load()
}

// Stop sends what waits, within ctx.
func (x *Export) Stop(ctx context.Context) error {
	if x == nil {
		return nil
	}
	var errs []error
	if x.spans != nil {
		errs = append(errs, x.spans.Shutdown(ctx))
	}
	if x.metrics != nil {
		errs = append(errs, x.metrics.Shutdown(ctx))
	}
	if x.logs != nil {
		errs = append(errs, x.logs.Shutdown(ctx))
	}
	return errors.Join(errs...)
}

// counting counts the spans that are to be sent.
type counting struct {
	x *Export
	sdktrace.SpanProcessor
}

// OnEnd takes in a span.
func (c counting) OnEnd(s sdktrace.ReadOnlySpan) {
	c.x.ended.Add(1)
	c.SpanProcessor.OnEnd(s)
}

// sending counts the spans that are sent.
type sending struct {
	sdktrace.SpanExporter
	x *Export
}

// ExportSpans sends spans.
func (s sending) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	s.x.handed.Add(int64(len(spans)))
	err := s.SpanExporter.ExportSpans(ctx, spans)
	if err != nil {
		s.x.failed.Add(int64(len(spans)))
	}
	return err
}
