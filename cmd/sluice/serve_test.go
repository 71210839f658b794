package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/childproc"
	"github.com/sluicehq/sluice/internal/redisserver"
)

// served is a node in a process of its own, the line in that process.
type served struct {
	*childproc.Child
	visitor, admin, ops string // host:port
}

func serve(t *testing.T, flags ...string) served {
	t.Helper()
	return serveIn(t, nil, flags...)
}

// serveIn is serve with more variables.
func serveIn(t *testing.T, environ []string, flags ...string) served {
	t.Helper()
	var at [3]string
	for i := range at {
		var err error
		if at[i], err = redisserver.FreeAddr(); err != nil {
			t.Fatal(err)
		}
	}
	s := served{visitor: at[0], admin: at[1], ops: at[2]}
	s.Child = spawnIn(t, environ, append([]string{"serve", "--data-dir", t.TempDir(), "--public-url", "http://" + at[0],
		"--listen", at[0], "--admin-listen", at[1], "--ops-listen", at[2]}, flags...)...)
	s.await(t, "readiness", func() bool { return status("http://"+s.ops+"/readyz") == http.StatusOK })
	return s
}

// await waits until what happens, for at most a minute.
func (s served) await(t *testing.T, what string, happens func() bool) {
	t.Helper()
	s.within(t, time.Minute, what, happens)
}

// within waits until what happens, for at most so long.
func (s served) within(t *testing.T, most time.Duration, what string, happens func() bool) {
	t.Helper()
	late := time.After(most)
	for !happens() {
		select {
		case <-late:
			t.Fatalf("no %s in %v: %s", what, most, s.Output())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// status gives the status of an answer; 0 = none.
func status(url string) int {
	resp, err := http.Get(url)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

// call asks, and gives an answer that is 200.
func (s served) call(t *testing.T, method, url string, h http.Header) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = h
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		t.Fatalf("%s %s: %d %s", method, url, resp.StatusCode, body)
	}
	return resp
}

// hang begins a request that is not finished, so that a drain has something to wait for.
func (s served) hang(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.visitor)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "POST /v1/passes/renew HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 13\r\nExpect: 100-continue\r\n\r\n")
	// The handler reads the body: only then the server asks for it.
	line := make([]byte, len("HTTP/1.1 100 Continue"))
	if _, err := io.ReadFull(conn, line); err != nil || string(line) != "HTTP/1.1 100 Continue" {
		t.Fatalf("%q, %v", line, err)
	}
	return conn
}

// Invariant graceful: a request in flight ends, then the process does, without an error.
func TestServeDrainsAtTheFirstSignal(t *testing.T) {
	t.Parallel()
	s := serve(t)
	conn := s.hang(t)
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.await(t, "closed door", func() bool { return status("http://"+s.visitor+"/healthz") == 0 })
	select {
	case <-s.Ended():
		t.Fatalf("ended with a request in flight: %s", s.Output())
	default:
	}
	fmt.Fprint(conn, `{"passes":[]}`)
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.Contains(string(answer), "200 OK") {
		t.Errorf("the request in flight was answered %q, %v", answer, err)
	}
	if code := s.ExitCode(); code != 0 {
		t.Errorf("exit code %d: %s", code, s.Output())
	}
}

// Invariant graceful: a second signal ends the process at once.
func TestServeEndsAtTheSecondSignal(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.hang(t)
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.await(t, "closed door", func() bool { return status("http://"+s.visitor+"/healthz") == 0 })
	began := time.Now()
	if err := s.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-s.Ended()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

// B091: a receiver of telemetry that takes connections and never answers, spans that wait for it, and pages that listen
// to events keep a node from nothing: it is unready at once, ends its streams, and is gone in time without an error. Nor does what waits pile up.
func TestServeEndsInTimeWithAReceiverThatHangs(t *testing.T) {
	t.Parallel()
	const checks, streams, token = 10_000, 500, "hangs-admin-token"
	hole, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hole.Close()
	s := serveIn(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + hole.Addr().String()}, "--trace-sample-ratio", "1", "--log-format", "json", "--bootstrap-admin-token", token)
	if got := status("http://" + s.visitor + "/v1/items/sku-1/check"); got != http.StatusOK {
		t.Fatalf("a check is answered %d", got)
	}
	var people sync.WaitGroup
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	defer client.CloseIdleConnections()
	for range 16 {
		people.Go(func() {
			for range checks / 16 {
				resp, err := client.Get("http://" + s.visitor + "/v1/items/sku-1/check")
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	people.Wait()
	var ends [streams]io.ReadCloser
	s.call(t, http.MethodPost, "http://"+s.admin+"/admin/api/v1/items/sku-1/activate", http.Header{"Authorization": {"Bearer " + token}}).Body.Close()
	for i := range ends {
		joined := s.call(t, http.MethodGet, "http://"+s.visitor+"/v1/items/sku-1/check", http.Header{"Sluice-Visitor": {""}, "Accept": {"application/json"}})
		var who struct {
			Visitor string
			Place   struct{ Ticket string }
		}
		err := json.NewDecoder(joined.Body).Decode(&who)
		joined.Body.Close()
		if err != nil || who.Place.Ticket == "" {
			t.Fatalf("visitor %d: %+v, %v", i, who, err)
		}
		resp := s.call(t, http.MethodGet, "http://"+s.visitor+"/v1/items/sku-1/events", http.Header{"Sluice-Visitor": {who.Visitor}, "Sluice-Ticket": {who.Place.Ticket}})
		defer resp.Body.Close()
		ends[i] = resp.Body
	}
	began := time.Now()
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.await(t, "unready node", func() bool { return status("http://"+s.ops+"/readyz") != http.StatusOK })
	if took := time.Since(began); took > 5*time.Second { // at once, on a machine that does other things too
		t.Errorf("unready after %v", took)
	}
	for i, body := range ends {
		if _, err := io.Copy(io.Discard, body); err != nil {
			t.Errorf("stream %d was cut: %v", i, err)
			break
		}
	}
	if code, took := s.ExitCode(), time.Since(began); code != 0 || took > 17*time.Second {
		t.Errorf("exit code %d after %v: %s", code, took, s.Output())
	}
}

func TestServeStopsWhereItsAddressIsTaken(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := spawn(t, "serve", "--data-dir", t.TempDir(), "--listen", l.Addr().String(), "--admin-listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	if code := c.ExitCode(); code != exitFailed || !strings.Contains(c.Output(), "--listen") {
		t.Errorf("exit code %d: %s", code, c.Output())
	}
}
