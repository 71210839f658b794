package pass

import (
	"fmt"
	"net/http"
	"sync/atomic"
)

// Result is what became of a request, or what the middleware did beside them.
type Result int

// What is counted. The first nine are requests, each counted once.
const (
	Unasked      Result = iota // for no item
	Verified                   // went on with a valid pass, without a call
	Passed                     // Sluice said pass
	Waiting                    // Sluice said wait
	Rejected                   // Sluice said reject
	FailedOpen                 // Sluice was away, let in
	FailedClosed               // Sluice was away, refused
	Refused                    // not a name of an item, or a request that Sluice does not take
	Unreachable                // calls of Sluice that failed
	KeysFetched                // key sets taken over
	Renewed                    // passes renewed
	Ended                      // passes whose session was found ended
	Finished                   // sessions ended from here
	results
)

// metrics are the names of the results in metrics.
var metrics = [results]string{
	`sluice_origin_requests_total{result="unasked"}`, `sluice_origin_requests_total{result="verified"}`,
	`sluice_origin_requests_total{result="pass"}`, `sluice_origin_requests_total{result="wait"}`,
	`sluice_origin_requests_total{result="reject"}`, `sluice_origin_requests_total{result="failed_open"}`,
	`sluice_origin_requests_total{result="failed_closed"}`, `sluice_origin_requests_total{result="refused"}`,
	`sluice_origin_call_errors_total`, `sluice_origin_key_fetches_total`,
	`sluice_origin_renewals_total{result="renewed"}`, `sluice_origin_renewals_total{result="ended"}`,
	`sluice_origin_finished_total`,
}

// helps say what the metrics are, before the first of each name.
var helps = map[Result]string{
	Unasked:     "# HELP sluice_origin_requests_total Requests by what became of them.\n# TYPE sluice_origin_requests_total counter\n",
	Unreachable: "# HELP sluice_origin_call_errors_total Calls of Sluice that failed.\n# TYPE sluice_origin_call_errors_total counter\n",
	KeysFetched: "# HELP sluice_origin_key_fetches_total Key sets fetched from Sluice.\n# TYPE sluice_origin_key_fetches_total counter\n",
	Renewed:     "# HELP sluice_origin_renewals_total Passes that were to be renewed, by outcome.\n# TYPE sluice_origin_renewals_total counter\n",
	Finished:    "# HELP sluice_origin_finished_total Sessions that were ended from here.\n# TYPE sluice_origin_finished_total counter\n",
}

type counts [results]atomic.Int64

func (c *counts) add(r Result) { c[r].Add(1) }

// Count is how often something has happened so far.
func (m *Middleware) Count(r Result) int64 { return m.counts[r].Load() }

// ServeMetrics answers with all counts in the text format of Prometheus.
func (m *Middleware) ServeMetrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	for r := range results {
		fmt.Fprintf(w, "%s%s %d\n", helps[r], metrics[r], m.Count(r))
	}
}
