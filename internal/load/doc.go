// Package load sends HTTP/1.1 requests over keep-alive connections and measures the answers, cheaply enough to share two
// cores with the server that it measures: request bytes are made beforehand, of an answer only status, length and body
// are read.
//
// Closed model (Plan.Rate 0): each connection sends its next request as soon as the last one is answered, which finds
// the most that a server does. Open model (Plan.Rate > 0): requests are due at a constant rate whatever the server does,
// and the time of an answer counts from the instant at which its request was due, so that a server that stalls shows
// all the waiting that it causes (no coordinated omission).
package load
