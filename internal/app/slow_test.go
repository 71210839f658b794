package app_test

import (
	"io"
	"net"
	"testing"
	"time"
)

// A client that never comes to the end of its header, or of its body, is cut off: it keeps no connection of the node's for long.
func TestSlowClientsAreCutOff(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	for _, c := range []struct {
		name, sends string
		most        time.Duration
		long        bool
	}{
		{"in the header", "GET /v1/items/sku-1/check HTTP/1.1\r\nHost: shop.test\r\nX-Slow: ", 7 * time.Second, false},
		{"in the body", "POST /v1/passes/renew HTTP/1.1\r\nHost: shop.test\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", 33 * time.Second, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.long && !full {
				t.Skip("takes half a minute: CASES=full")
			}
			conn, err := net.Dial("tcp", r.nodes[0].Addresses().Visitor)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, c.sends); err != nil {
				t.Fatal(err)
			}
			if err := conn.SetReadDeadline(time.Now().Add(c.most)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(conn); err != nil {
				t.Errorf("not cut off within %v: %v", c.most, err)
			}
		})
	}
}
