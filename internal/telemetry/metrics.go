// Package telemetry is what operators watch: metrics through OpenTelemetry with an endpoint for Prometheus. The hot
// path adds to atomics of its own; the instruments read them when somebody asks.
package telemetry

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/sluicehq/sluice/queue"
)

// mostItems bounds the items that have series of their own; the others are gathered under otherItem.
const (
	mostItems = 100
	otherItem = "_other"
)

// Sources are the numbers that other parts keep and the metrics read. All are required.
type Sources struct {
	StoreUp         func() bool
	ClockSkew       func() time.Duration
	SettingsVersion func() int64
	DroppedCounts   func() int64
	DroppedBeats    func() int64 // heartbeats
	Queues          func() int64 // queues that are on
	DeadLetters     func() int64 // messages to webhooks that were given up; nil = this node does not know
}

// Metrics are the numbers of one node. It is safe for use by many goroutines.
type Metrics struct {
	registry *prometheus.Registry
	provider *sdk.MeterProvider

	checks map[verdict]*atomic.Int64 // made at the start, read only since
	shed   atomic.Int64

	wait metric.Float64Histogram
	lag  metric.Float64Histogram

	mu     sync.Mutex
	items  map[queue.Item]*itemNumbers // those that this node steps
	others queue.Counts                // what happened to items while they had no series of their own
}

// verdict is an answer to a check.
type verdict struct{ action, reason string }

// pairs are the verdicts of the contract: each is a series from the start, at 0.
var pairs = map[string][]string{
	"pass":   {"queue_off", "pass_valid", "admitted", "grace", "bypass", "store_down"},
	"wait":   {"queue_on", "prequeue", "paused", "store_down"},
	"reject": {"queue_full", "closed", "not_invited", "blocked"},
}

// New makes the metrics of a node.
func New(s Sources) (*Metrics, error) {
	m := &Metrics{
		registry: prometheus.NewRegistry(), items: map[queue.Item]*itemNumbers{}, checks: map[verdict]*atomic.Int64{},
	}
	for action, reasons := range pairs {
		for _, reason := range reasons {
			m.checks[verdict{action, reason}] = new(atomic.Int64)
		}
	}
	exporter, err := otelprom.New(otelprom.WithRegisterer(m.registry), otelprom.WithoutScopeInfo())
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	m.provider = sdk.NewMeterProvider(sdk.WithReader(exporter))
	if err := m.instruments(s); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return m, nil
}

// Handler serves the metrics as OpenMetrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
}

// Stop ends the metrics.
func (m *Metrics) Stop(ctx context.Context) error { return m.provider.Shutdown(ctx) }

// Check counts one answer. It takes no lock.
func (m *Metrics) Check(action, reason string) {
	if n := m.checks[verdict{action, reason}]; n != nil {
		n.Add(1)
	}
}

// Shed counts a request that found no room.
func (m *Metrics) Shed() { m.shed.Add(1) }
