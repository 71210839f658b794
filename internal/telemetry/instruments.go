package telemetry

import (
	"context"
	"runtime/debug"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// instruments declares what is not an item's.
func (m *Metrics) instruments(s Sources) error {
	meter := m.provider.Meter("github.com/sluicehq/sluice")
	if err := m.itemInstruments(meter); err != nil {
		return err
	}
	gauge := func(name, help string, read func() float64) error {
		_, err := meter.Float64ObservableGauge(name, metric.WithDescription(help),
			metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
				o.Observe(read())
				return nil
			}))
		return err
	}
	counter := func(name, help string, read func() int64) error {
		_, err := meter.Int64ObservableCounter(name, metric.WithDescription(help),
			metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
				o.Observe(read())
				return nil
			}))
		return err
	}
	_, err := meter.Int64ObservableCounter("sluice_checks", metric.WithDescription("Answers to checks, and passes by other answers, by action and reason."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			for v, n := range m.checks {
				o.Observe(n.Load(), metric.WithAttributes(attribute.String("action", v.action), attribute.String("reason", v.reason)))
			}
			return nil
		}))
	if err != nil {
		return err
	}
	if _, err := meter.Int64ObservableGauge("sluice_build_info", metric.WithDescription("1, with the version of the program."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(1, metric.WithAttributes(attribute.String("version", Version())))
			return nil
		})); err != nil {
		return err
	}
	for _, err := range []error{
		gauge("sluice_store_up", "1 while the store answers.", func() float64 {
			if s.StoreUp() {
				return 1
			}
			return 0
		}),
		gauge("sluice_clock_skew_seconds", "How far the store's clock is ahead of this machine's.", func() float64 { return s.ClockSkew().Seconds() }),
		gauge("sluice_settings_version", "Version of the settings in force.", func() float64 { return float64(s.SettingsVersion()) }),
		gauge("sluice_queues", "Queues that are on, as this node knows them.", func() float64 { return float64(s.Queues()) }),

		counter("sluice_dropped_counts", "Requests whose count found no room or no store.", s.DroppedCounts),
		counter("sluice_dropped_heartbeats", "Heartbeats of waiting visitors that found no room while the store was away.", s.DroppedBeats),
		counter("sluice_shed", "Requests turned away because the node was full.", m.shed.Load),
	} {
		if err != nil {
			return err
		}
	}
	if s.DeadLetters != nil {
		if err := gauge("sluice_webhook_dead_letters", "Messages to webhooks that were given up and can be sent again; the same on each admin node.",
			func() float64 { return float64(s.DeadLetters()) }); err != nil {
			return err
		}
	}
	if m.wait, err = meter.Float64Histogram("sluice_wait_seconds", metric.WithDescription("Time from joining to admission."),
		metric.WithExplicitBucketBoundaries(1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400)); err != nil {
		return err
	}
	m.lag, err = meter.Float64Histogram("sluice_mover_lag_seconds", metric.WithDescription("How much later than due an item's step ran."),
		metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5))
	return err
}

// Version is that of the program, as its build knows it.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "devel"
}
