package app_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"regexp"
	"runtime"
	"testing"
	"time"
)

// descriptors is how many files and sockets this process has open.
func descriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc/self/fd: open descriptors cannot be counted here")
	}
	return len(open)
}

// stream opens the visitor's event stream, and cuts it after a while with a reset, whatever has come by then.
func (v *visitor) stream(item string, while time.Duration) error {
	c, err := net.Dial("tcp", v.r.nodes[0].Addresses().Visitor)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.(*net.TCPConn).SetLinger(0); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c, "GET /v1/items/%s/events HTTP/1.1\r\nHost: shop.test\r\nSluice-Visitor: %s\r\nSluice-Ticket: %s\r\n\r\n",
		item, v.token, v.ticket)
	if err != nil {
		return err
	}
	// What comes is read only by half of them: the others leave the node with a full buffer.
	if rand.IntN(2) == 0 {
		_ = c.SetReadDeadline(time.Now().Add(while))
		for b := make([]byte, 4096); err == nil; {
			_, err = c.Read(b)
		}
		return nil
	}
	until(while)
	return nil
}

// B068: clients that go away in the middle of a stream, again and again, cost nothing once they are gone, are no places of
// their own, and make no noise. Not parallel: it counts the goroutines and descriptors of the process.
func TestStreamsThatAreCutLeaveNothingBehind(t *testing.T) {
	jars, span := 90, 5*time.Second
	if full {
		jars, span = 5000, 3*time.Minute
	}
	r := newRigOf(t, 1, jars+100)
	r.policy("sku-1", map[string]any{"inflow_per_second": 0, "abandon_seconds": 600})
	r.activate("sku-1")
	visitors := make([]*visitor, jars)
	for i := range visitors {
		visitors[i] = r.visitor()
		visitors[i].check(0, "sku-1")
	}
	r.client.CloseIdleConnections()
	until(time.Second)
	goroutines, files := runtime.NumGoroutine(), descriptors(t)
	end := time.Now().Add(span)
	together(jars, func(i int) {
		for time.Now().Before(end) {
			if err := visitors[i].stream("sku-1", rand.N(2*time.Second)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	r.eventually(20*time.Second, "goroutines and descriptors are back", func() bool {
		return runtime.NumGoroutine() <= goroutines+50 && descriptors(t) <= files+50
	})
	if got := r.must("GET", "/items/sku-1", nil)["waiting"]; got != float64(jars) {
		t.Errorf("waiting is %v with %d visitors", got, jars)
	}
	if noise := regexp.MustCompile(`panic|goroutine |broken pipe|reset by peer`).FindString(r.nodes[0].log.String()); noise != "" {
		t.Errorf("the log speaks of %q", noise)
	}
}
