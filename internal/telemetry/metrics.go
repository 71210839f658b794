// Package telemetry is what operators watch: metrics for Prometheus, traces and logs for OpenTelemetry. The hot path
// adds to atomics of its own; what is shown is put together when somebody asks.
package telemetry

import (
	"net/http"
	"regexp"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sluicehq/sluice/internal/problem"
	"github.com/sluicehq/sluice/internal/telemetry/series"
	"github.com/sluicehq/sluice/queue"
)

// Sources are the numbers that other parts keep and the metrics read. All but DeadLetters are required.
type Sources struct {
	StoreUp         func() bool
	ClockSkew       func() time.Duration
	SettingsVersion func() int64
	DroppedCounts   func() int64
	DroppedBeats    func() int64     // heartbeats
	Queues          func() int64     // queues that are on
	Streams         func() int64     // event streams that are open
	Sales           func() []SaleDue // the next steps of sales, at most a few
	KeyEnds         func() time.Time // when the first replaced key ends; zero = none does
	DroppedSpans    func() int64
	Unreplicated    func() int64
	DeadLetters     func() int64 // messages to webhooks that were given up; nil = this node does not know
}

// SaleDue is when a step of a sale is due.
type SaleDue struct {
	Item string // or pattern
	Step string // prequeue, open or close
	At   time.Time
}

// Metrics are the numbers of one node. It is safe for use by many goroutines.
type Metrics struct {
	registry *prometheus.Registry

	checks      map[verdict]prometheus.Counter // made at the start, read only since
	causes      map[queue.Cause]prometheus.Counter
	problems    map[string]prometheus.Counter
	storeErrors map[string]prometheus.Counter
	shed        prometheus.Counter
	stepErrors  prometheus.Counter

	wait, eta, lag prometheus.Histogram
	requests       *prometheus.CounterVec
	seconds        *prometheus.HistogramVec
	store          *prometheus.HistogramVec
	commands       sync.Map // name of a call of the store -> prometheus.Observer

	mu     sync.Mutex
	items  map[queue.Item]*itemNumbers // those that this node steps
	others queue.Counts                // what happened to items while they had no series of their own

	traffic traffic
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
		registry: prometheus.NewRegistry(), items: map[queue.Item]*itemNumbers{}, checks: map[verdict]prometheus.Counter{},
		causes: map[queue.Cause]prometheus.Counter{}, problems: map[string]prometheus.Counter{}, storeErrors: map[string]prometheus.Counter{},
		shed: counter(series.Shed), stepErrors: counter(series.StepErrors),
		wait: histogram(series.WaitSeconds), eta: histogram(series.EtaError), lag: histogram(series.MoverLag),
		requests: counters(series.Requests), seconds: histograms(series.RequestSeconds), store: histograms(series.StoreSeconds),
		traffic: traffic{items: map[queue.Item]*itemTraffic{}},
	}
	checks, causes, problems, kinds := counters(series.Checks), counters(series.Activations), counters(series.Errors), counters(series.StoreErrors)
	for action, reasons := range pairs {
		for _, reason := range reasons {
			m.checks[verdict{action, reason}] = checks.WithLabelValues(action, reason)
		}
	}
	for _, cause := range []queue.Cause{queue.ByDetector, queue.ByOperator, queue.ByMode, queue.BySale} {
		m.causes[cause] = causes.WithLabelValues(string(cause))
	}
	for _, code := range problem.Codes() {
		m.problems[code] = problems.WithLabelValues(code)
	}
	for _, kind := range storeKinds {
		m.storeErrors[kind] = kinds.WithLabelValues(kind)
	}
	for _, command := range storeCommands {
		m.commands.Store(command, m.store.WithLabelValues(command))
	}
	for _, c := range []prometheus.Collector{
		checks, causes, problems, kinds, m.shed, m.stepErrors, m.wait, m.eta, m.lag, m.requests, m.seconds, m.store,
		items{m}, sources{s}, &m.traffic,
		collectors.NewGoCollector(collectors.WithGoCollectorMemStatsMetricsDisabled(), collectors.WithGoCollectorRuntimeMetrics(heap)), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		if err := m.registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// heap is what the heap's objects take: the older form of it (go_memstats_…) has two metrics of one name in OpenMetrics.
var heap = collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile(`^/memory/classes/heap/objects:bytes$`)}

func opts(s series.Metric) prometheus.Opts { return prometheus.Opts{Name: s.Name, Help: s.Help} }

func counter(s series.Metric) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts(opts(s)))
}

func counters(s series.Metric) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts(opts(s)), s.Labels)
}

func histogram(s series.Metric) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: s.Name, Help: s.Help, Buckets: s.Buckets})
}

func histograms(s series.Metric) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: s.Name, Help: s.Help, Buckets: s.Buckets}, s.Labels)
}

// desc is a metric that is read when somebody asks.
func desc(s series.Metric) *prometheus.Desc {
	return prometheus.NewDesc(s.Name, s.Help, s.Labels, nil)
}

// kindOf is what the library calls a kind.
func kindOf(s series.Metric) prometheus.ValueType {
	if s.Kind == series.Counter {
		return prometheus.CounterValue
	}
	return prometheus.GaugeValue
}

// Handler serves the metrics, as OpenMetrics with exemplars to those that ask for it.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
}

// Gatherer gives the metrics to whoever sends them elsewhere.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// Check counts one answer. It takes no lock.
func (m *Metrics) Check(action, reason string) {
	if n := m.checks[verdict{action, reason}]; n != nil {
		n.Inc()
	}
}

// Shed counts a request that found no room.
func (m *Metrics) Shed() { m.shed.Inc() }

// Activated counts a queue that was turned on.
func (m *Metrics) Activated(cause queue.Cause) {
	if n := m.causes[cause]; n != nil {
		n.Inc()
	}
}

// StepFailed counts a step that failed.
func (m *Metrics) StepFailed() { m.stepErrors.Inc() }

// Told takes in how long one who was let in had been told to wait, and how long it was.
func (m *Metrics) Told(told, took time.Duration) {
	if took > 0 {
		m.eta.Observe(float64(told-took) / float64(took))
	}
}

// Version is that of the program, as its build knows it.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "devel"
}
