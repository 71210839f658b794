// Package series names every metric of the program, in one place: what makes them, what draws them, what watches them
// and what documents them all read it here.
package series

// Kind is what a metric is.
type Kind string

// The kinds of metrics.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Metric is one metric. Its name is that of its series, without the _bucket, _sum and _count of a histogram.
type Metric struct {
	Name    string
	Kind    Kind
	Unit    string // as UCUM has it: s, 1, {visitor}
	Labels  []string
	Help    string
	Buckets []float64 // of a histogram
}

// Bucket, Sum and Count name the series of a histogram.
func (m Metric) Bucket() string { return m.Name + "_bucket" }

// Sum is the series of all that was observed.
func (m Metric) Sum() string { return m.Name + "_sum" }

// Count is the series of how often something was observed.
func (m Metric) Count() string { return m.Name + "_count" }

// The values of labels that stand for all that have no series of their own.
const (
	OtherItem  = "_other"
	OtherRoute = "_other"
)

// What visitors are answered.
var (
	Checks = Metric{"sluice_checks_total", Counter, "{request}", []string{"action", "reason"},
		"Answers to checks, and passes by other answers, by action and reason.", nil}
	Shed = Metric{"sluice_shed_total", Counter, "{request}", nil,
		"Requests turned away because the node was full.", nil}
	Streams = Metric{"sluice_streams", Gauge, "{stream}", nil,
		"Event streams of waiting pages that are open.", nil}
	Requests = Metric{"sluice_http_requests_total", Counter, "{request}", []string{"listener", "route", "class"},
		"Requests, by listener, route and class of the status. Routes of the visitor listener alone are told apart.", nil}
	RequestSeconds = Metric{"sluice_http_request_duration_seconds", Histogram, "s", []string{"listener", "route"},
		"Time from a request's header to the end of its answer, event streams left out.",
		[]float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5}}
	Errors = Metric{"sluice_http_errors_total", Counter, "{request}", []string{"code"},
		"Requests that were answered with a problem, by its code (docs/errors.md).", nil}
)

// One item's queue, from the node that steps it, so that sums over nodes are true.
var (
	QueueState = Metric{"sluice_queue_state", Gauge, "1", []string{"item"},
		"State of the item's queue: 0 off, 1 prequeue, 2 open, 3 paused, 4 closed.", nil}
	Waiting = Metric{"sluice_waiting", Gauge, "{visitor}", []string{"item"},
		"Visitors in line.", nil}
	Running = Metric{"sluice_running", Gauge, "{visitor}", []string{"item"},
		"Visitors let in whose claim or session has not ended.", nil}
	Reserved = Metric{"sluice_reserved", Gauge, "{visitor}", []string{"item"},
		"Visitors known to be inside but not in running.", nil}
	Finished = Metric{"sluice_finished_total", Counter, "{visitor}", []string{"item"},
		"Sessions that have ended.", nil}
	Admitted = Metric{"sluice_admitted_total", Counter, "{visitor}", []string{"item"},
		"Visitors let in.", nil}
	Joined = Metric{"sluice_joined_total", Counter, "{visitor}", []string{"item"},
		"New places.", nil}
	Left = Metric{"sluice_left_total", Counter, "{visitor}", []string{"item", "reason"},
		"Places that ended before admission: silent too long (abandoned), or by own wish, revoked, reset, closed, released (left).", nil}
	NoShow = Metric{"sluice_no_show_total", Counter, "{visitor}", []string{"item"},
		"Admissions that nobody claimed in time.", nil}
	Restored = Metric{"sluice_restored_total", Counter, "{visitor}", []string{"item"},
		"Places that came back by ticket after a loss of the store.", nil}
	WindowRequests = Metric{"sluice_item_window_requests", Gauge, "{request}", []string{"item"},
		"Checks in the trigger's window, all nodes together.", nil}
	TriggerRequests = Metric{"sluice_trigger_requests", Gauge, "{request}", []string{"item"},
		"Checks in the window that turn the queue on.", nil}
	Inflow = Metric{"sluice_inflow_per_second", Gauge, "{visitor}/s", []string{"item"},
		"Visitors let in per second, as set.", nil}
	MaxActive = Metric{"sluice_max_active_users", Gauge, "{visitor}", []string{"item"},
		"Most visitors inside at once, as the policy says; 0 = no limit.", nil}
	WaitSeconds = Metric{"sluice_wait_seconds", Histogram, "s", nil,
		"Time from joining to admission.",
		[]float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400}}
	EtaError = Metric{"sluice_eta_error_ratio", Histogram, "1", nil,
		"How far the waiting time told at joining was off, as a share of the true one: below 0 told too short.",
		[]float64{-0.5, -0.35, -0.2, -0.1, -0.05, 0, 0.05, 0.1, 0.2, 0.35, 0.5, 1, 2}}
	MoverLag = Metric{"sluice_mover_lag_seconds", Histogram, "s", nil,
		"How much later than due an item's step ran.",
		[]float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5}}
	StepErrors = Metric{"sluice_step_errors_total", Counter, "{step}", nil,
		"Steps of items that failed.", nil}
	Queues = Metric{"sluice_queues", Gauge, "{queue}", nil,
		"Queues that are on, as this node knows them.", nil}
	Activations = Metric{"sluice_activations_total", Counter, "{activation}", []string{"cause"},
		"Queues that were turned on, by what turned them on; counted by the node that steps the item.", nil}
)

// Traffic as the detector sees it.
var (
	ItemRequests = Metric{"sluice_item_requests_total", Counter, "{request}", []string{"item"},
		"Checks that count as traffic of an item, by the node that answered them.", nil}
	DroppedCounts = Metric{"sluice_dropped_counts_total", Counter, "{request}", nil,
		"Requests whose count found no room or no store.", nil}
	DroppedHeartbeats = Metric{"sluice_dropped_heartbeats_total", Counter, "{heartbeat}", nil,
		"Heartbeats of waiting visitors that found no room while the store was away.", nil}
)

// What the node needs around it.
var (
	StoreUp = Metric{"sluice_store_up", Gauge, "1", nil,
		"1 while the store answers.", nil}
	Breaker = Metric{"sluice_breaker_state", Gauge, "1", nil,
		"0 closed: requests ask the store; 1 open: they are answered without it, and the node's own probes ask whether it is back.", nil}
	StoreSeconds = Metric{"sluice_store_command_seconds", Histogram, "s", []string{"command"},
		"Time of a call of the store: a script by its name, any other command, or a pipeline of them.",
		[]float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5}}
	StoreErrors = Metric{"sluice_store_errors_total", Counter, "{call}", []string{"kind"},
		"Calls of the store that failed, by kind.", nil}
	Unreplicated = Metric{"sluice_unreplicated_total", Counter, "{batch}", nil,
		"Batches of joins and of admissions that were answered before as many replicas had them as --redis-min-replicas asks for.", nil}
	ClockSkew = Metric{"sluice_clock_skew_seconds", Gauge, "s", nil,
		"How far the store's clock is ahead of this machine's.", nil}
	SettingsVersion = Metric{"sluice_settings_version", Gauge, "1", nil,
		"Version of the settings in force.", nil}
	DeadLetters = Metric{"sluice_webhook_dead_letters", Gauge, "{message}", nil,
		"Messages to webhooks that were given up and can be sent again; the same on each admin node, 0 on others.", nil}
	SaleNext = Metric{"sluice_sale_next_timestamp_seconds", Gauge, "s", []string{"item", "step"},
		"When the next step of a sale is due (prequeue, open, close), seconds since 1970; 0 where there is none.", nil}
	KeyExpires = Metric{"sluice_key_expires_timestamp_seconds", Gauge, "s", nil,
		"When the first of the keys of passes that have been replaced verifies no more, seconds since 1970; 0 where there is none.", nil}
	DroppedSpans = Metric{"sluice_dropped_spans_total", Counter, "{span}", nil,
		"Spans that were not sent: the receiver does not answer, or too slowly.", nil}
	BuildInfo = Metric{"sluice_build_info", Gauge, "1", []string{"version", "goversion", "revision"},
		"1, with what the program was built from.", nil}
)

// All lists every metric of the program, in the order of docs/metrics.md. Those of the Go runtime and of the process come beside them.
func All() []Metric {
	return []Metric{
		Checks, Shed, Streams, Requests, RequestSeconds, Errors,
		QueueState, Waiting, Running, Reserved, Joined, Admitted, Finished, Left, NoShow, Restored, WindowRequests, TriggerRequests, Inflow, MaxActive,
		WaitSeconds, EtaError, MoverLag, StepErrors, Queues, Activations,
		ItemRequests, DroppedCounts, DroppedHeartbeats,
		StoreUp, Breaker, StoreSeconds, StoreErrors, Unreplicated, ClockSkew, SettingsVersion, DeadLetters, SaleNext, KeyExpires, DroppedSpans, BuildInfo,
	}
}
