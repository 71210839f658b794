// Package oteltest receives what nodes send by OTLP in tests: at the tests' own receiver, or through OpenTelemetry's
// collector, a program that deploy/install-test-deps.sh builds.
package oteltest

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"

	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// Receiver takes spans by OTLP over gRPC. It is safe for use by many goroutines.
type Receiver struct {
	coltrace.UnimplementedTraceServiceServer
	Address string // host:port

	mu    sync.Mutex
	spans []*otlp.Span
}

// NewReceiver starts one, which ends with the test.
func NewReceiver(t testing.TB) *Receiver {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r, s := &Receiver{Address: l.Addr().String()}, grpc.NewServer()
	coltrace.RegisterTraceServiceServer(s, r)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return r
}

// Export takes spans.
func (r *Receiver) Export(_ context.Context, req *coltrace.ExportTraceServiceRequest) (*coltrace.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range req.ResourceSpans {
		for _, in := range of.ScopeSpans {
			r.spans = append(r.spans, in.Spans...)
		}
	}
	return &coltrace.ExportTraceServiceResponse{}, nil
}

// Spans are those that have come so far.
func (r *Receiver) Spans() []*otlp.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.spans)
}
