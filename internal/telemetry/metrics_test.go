package telemetry

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// contract is each verdict of the visitor API.
var contract = map[string][]string{
	"pass":   {"queue_off", "pass_valid", "admitted", "grace", "bypass", "store_down"},
	"wait":   {"queue_on", "prequeue", "paused", "store_down"},
	"reject": {"queue_full", "closed", "not_invited", "blocked"},
}

func TestWhatMayBeCountedIsThereFromTheStart(t *testing.T) {
	t.Parallel()
	p := scrape(t, newMetrics(t, noSources()))
	n := 0
	for action, reasons := range contract {
		for _, reason := range reasons {
			p.is(t, fmt.Sprintf("sluice_checks_total{action=%q,reason=%q}", action, reason), 0)
			n++
		}
	}
	if got := p.of("sluice_checks_total"); len(got) != n {
		t.Errorf("%d verdicts, want %d: %v", len(got), n, got)
	}
	for _, name := range []string{
		"sluice_store_up", "sluice_clock_skew_seconds", "sluice_settings_version", "sluice_queues",
		"sluice_dropped_counts_total", "sluice_dropped_heartbeats_total", "sluice_shed_total",
	} {
		p.is(t, name, 0)
	}
	for family, kind := range p.types {
		if p.help[family] == "" {
			t.Errorf("%s, a %s, has no help", family, kind)
		}
	}
}

func TestWhatOtherPartsKeepIsRead(t *testing.T) {
	t.Parallel()
	p := scrape(t, newMetrics(t, Sources{
		StoreUp: func() bool { return true }, ClockSkew: func() time.Duration { return -1500 * time.Millisecond },
		SettingsVersion: func() int64 { return 42 }, DroppedCounts: func() int64 { return 7 }, DroppedBeats: func() int64 { return 9 }, Queues: func() int64 { return 3 },
		Streams: func() int64 { return 11 }, DroppedSpans: func() int64 { return 13 }, Unreplicated: func() int64 { return 17 }, DeadLetters: func() int64 { return 15 }, KeyEnds: func() time.Time { return noon },
		Sales: func() []SaleDue { return []SaleDue{{"shoe", "open", noon}} },
	}))
	for name, want := range map[string]float64{
		"sluice_store_up": 1, "sluice_clock_skew_seconds": -1.5, "sluice_settings_version": 42,
		"sluice_dropped_counts_total": 7, "sluice_dropped_heartbeats_total": 9, "sluice_queues": 3, "sluice_breaker_state": 0,
		"sluice_streams": 11, "sluice_dropped_spans_total": 13, "sluice_unreplicated_total": 17, "sluice_webhook_dead_letters": 15,
		"sluice_key_expires_timestamp_seconds": float64(noon.Unix()), `sluice_sale_next_timestamp_seconds{item="shoe",step="open"}`: float64(noon.Unix()),
	} {
		p.is(t, name, want)
	}
}

func TestEachAnswerIsCountedUnderItsVerdict(t *testing.T) { // one-reason
	t.Parallel()
	m := newMetrics(t, noSources())
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for range 100 {
				m.Check("wait", "queue_on")
				m.Check("pass", "store_down")
				m.Check("pass", "store_down")
				m.Shed()
			}
		})
	}
	wg.Wait()
	before := len(scrape(t, m).samples)
	m.Check("pass", "queue_on")   // a pair that is none
	m.Check("dance", `with " me`) // made-up words make no series
	m.Check("", "")
	p := scrape(t, m)
	p.is(t, `sluice_checks_total{action="wait",reason="queue_on"}`, 1000)
	p.is(t, `sluice_checks_total{action="pass",reason="store_down"}`, 2000)
	p.is(t, `sluice_checks_total{action="wait",reason="store_down"}`, 0)
	p.is(t, "sluice_shed_total", 1000)
	if len(p.samples) != before {
		t.Errorf("%d series after %d", len(p.samples), before)
	}
}

func TestTwoNodesInOneProcessHaveNumbersOfTheirOwn(t *testing.T) {
	t.Parallel()
	a, b := newMetrics(t, noSources()), newMetrics(t, noSources())
	a.Shed()
	scrape(t, a).is(t, "sluice_shed_total", 1)
	scrape(t, b).is(t, "sluice_shed_total", 0)
}
