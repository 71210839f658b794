package chaos_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/internal/redisserver"
)

// door is a way to a server on which faults can be laid.
type door struct {
	t     *testing.T
	proxy *toxiproxy.Proxy
}

// newDoor opens a way to host:port.
func newDoor(t *testing.T, upstream string) *door {
	t.Helper()
	at, err := redisserver.FreeAddr()
	if err != nil {
		t.Fatal(err)
	}
	quiet := zerolog.Nop()
	p := toxiproxy.NewProxy(toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), quiet), "store", at, upstream)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return &door{t, p}
}

// addr is the door's own host:port.
func (d *door) addr() string { return d.proxy.Listen }

// lay lays a fault on the way: kind and attributes as toxiproxy names them; stream is "upstream" or "downstream".
func (d *door) lay(kind, stream string, attributes map[string]any) {
	d.t.Helper()
	body, err := json.Marshal(map[string]any{"name": kind + stream, "type": kind, "stream": stream, "toxicity": 1, "attributes": attributes})
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := d.proxy.Toxics.AddToxicJson(bytes.NewReader(body)); err != nil {
		d.t.Fatal(err)
	}
}

// clear takes all faults away.
func (d *door) clear() { d.proxy.Toxics.ResetToxics(context.Background()) }
