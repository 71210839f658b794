package app_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// B172: whatever a request brings, each event is one line of the log, and a request id that is not sane is replaced.
func TestWhatOutsidersSendIsOneLineOfTheLog(t *testing.T) {
	t.Parallel()
	r := newMemoryRig(t)
	for _, id := range []string{"a\tlevel=error", "${jndi:ldap://x}", strings.Repeat("a", 5000), `"><script>`, "a b", "\u202e"} {
		req, err := http.NewRequest(http.MethodGet, "http://"+r.nodes[0].Addresses().Visitor+"/v1/items/sku-1/check?user=a%0d%0alevel%3derror&token=secret-of-mine", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Request-Id", id)
		req.Header.Set("User-Agent", `<img src=x onerror=alert(1)>"}`)
		req.Header.Set("Referer", `"><svg/onload=alert(1)>`)
		resp, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("X-Request-Id"); got == "" || got == id || strings.ContainsAny(got, " <>$\t") {
			t.Errorf("%.40q is answered as %q", id, got)
		}
	}
	// A header that ends in the middle of a line.
	conn, err := net.Dial("tcp", r.nodes[0].Addresses().Visitor)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	fmt.Fprintf(conn, "GET /v1/items/sku-1/check HTTP/1.1\r\nHost: shop.test\r\nX-Request-Id: a\r\nlevel=error\r\n\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || answer.StatusCode != http.StatusBadRequest {
		t.Errorf("a line that is no header: %v %v", answer, err)
	} else {
		_, _ = io.Copy(io.Discard, answer.Body)
	}
	for line := range strings.Lines(r.nodes[0].log.String()) {
		if !json.Valid([]byte(line)) || strings.Contains(line, "secret-of-mine") || strings.Contains(line, "jndi") {
			t.Errorf("logged %q", line)
		}
	}
}
