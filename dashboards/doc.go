// Package dashboards is what operators see: Grafana's dashboards, and Prometheus' rules. Here they are written in Go, from
// the names in internal/telemetry/series; "go test ./dashboards -update" writes the files that Grafana and Prometheus are
// given (*.json, alerts/*.yaml), and the test fails where these differ.
//
// One file holds one dashboard.
package dashboards
