package load_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/load"
)

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// plan sends GET / to one server.
func plan(addr string) load.Plan {
	request := load.Request(http.MethodGet, addr, "/", "X-One", "1", "X-None", "")
	return load.Plan{Addrs: []string{addr}, Conns: 4, For: time.Second, Next: func(int) []byte { return request }}
}

func run(t *testing.T, p load.Plan) load.Result {
	t.Helper()
	r, err := load.Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAnOpenPlanKeepsItsRate(t *testing.T) {
	t.Parallel()
	var got atomic.Int64
	p := plan(serve(t, func(w http.ResponseWriter, _ *http.Request) { got.Add(1); fmt.Fprint(w, "hello") }))
	p.Rate, p.For = 200, 500*time.Millisecond
	r := run(t, p)
	if r.Requests != 100 || got.Load() != 100 || r.Errors != 0 || r.Missed != 0 || r.Latency.TotalCount() != 100 {
		t.Errorf("%d answered of 100, the server saw %d, %d errors (%v), %d missed", r.Requests, got.Load(), r.Errors, r.First, r.Missed)
	}
	if r.Elapsed < 400*time.Millisecond {
		t.Errorf("all in %v", r.Elapsed)
	}
}

func TestAStallShowsInEveryRequestThatItHeldUp(t *testing.T) {
	t.Parallel()
	const stall = 600 * time.Millisecond
	var once sync.Once
	p := plan(serve(t, func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() {
			select { // the first request stands still; with one connection, all that are due meanwhile wait
			case <-time.After(stall):
			case <-r.Context().Done():
			}
		})
	}))
	p.Conns, p.Rate, p.Most = 1, 100, 60
	r := run(t, p)
	if r.Requests != 60 {
		t.Fatalf("%d of 60 answered, %v", r.Requests, r.First)
	}
	// 60 were due within the stall, 10 ms apart, so their waiting is spread evenly from 600 ms down to 0; a generator
	// that waits with its server would show one slow answer and a median of nothing.
	if p50 := r.Quantile(50); p50 < 200*time.Millisecond {
		t.Errorf("median %v: the stall is left out", p50)
	}
	if most := r.Quantile(100); most < stall {
		t.Errorf("slowest %v", most)
	}
}

func TestAClosedPlanSendsAsFastAsAnswersCome(t *testing.T) {
	t.Parallel()
	var out, most atomic.Int64
	p := plan(serve(t, func(w http.ResponseWriter, _ *http.Request) {
		n := out.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		fmt.Fprint(w, "x")
		out.Add(-1)
	}))
	p.For, p.Most = 10*time.Second, 500
	r := run(t, p)
	if r.Requests != 500 || most.Load() > 4 {
		t.Errorf("%d requests, at most %d at once, %v", r.Requests, most.Load(), r.First)
	}
}

func TestAnswersAreHandedOver(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 5_000) // more than one read, more than the first buffer
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/long":
			w.Header().Set("Content-Length", fmt.Sprint(len(long)))
			io.WriteString(w, long)
		case "/none":
			w.WriteHeader(http.StatusNoContent)
		case "/close":
			w.Header().Set("Connection", "close")
			io.WriteString(w, "bye")
		default:
			http.Error(w, "no", http.StatusNotFound)
		}
	})
	paths := []string{"/long", "/none", "/close", "/other", "/long"}
	var got []string
	i := 0
	r := run(t, load.Plan{
		Addrs: []string{addr}, Conns: 1, For: 5 * time.Second,
		Next: func(int) []byte {
			if i == len(paths) {
				return nil
			}
			i++
			return load.Request(http.MethodGet, addr, paths[i-1])
		},
		Got: func(_ int, a load.Response) { got = append(got, fmt.Sprint(a.Status, " ", len(a.Body))) },
	})
	if want := "200 50000,204 0,200 3,404 3,200 50000"; strings.Join(got, ",") != want {
		t.Errorf("got %v, want %s (%v)", got, want, r.First)
	}
	if r.Requests != 4 || r.Errors != 1 || r.Refused != 1 {
		t.Errorf("%d answered, %d errors", r.Requests, r.Errors)
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"no HTTP":           "hello\r\n\r\n",
		"no length":         "HTTP/1.1 200 OK\r\n\r\n",
		"chunks":            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"a negative length": "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"more than it says": "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxy",
		"the end, too soon": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nxy",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					buf := make([]byte, 1024)
					c.Read(buf)
					io.WriteString(c, answer)
					c.Close()
				}
			}()
			p := plan(l.Addr().String())
			p.Conns, p.Most = 1, 3
			r := run(t, p)
			if r.Errors != 3 || r.First == nil {
				t.Errorf("%d errors of 3, %v", r.Errors, r.First)
			}
		})
	}
}

func TestARunEndsThoughNobodyAnswers(t *testing.T) {
	t.Parallel()
	p := plan(serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	p.For, p.Patience, p.Rate = 50*time.Millisecond, 50*time.Millisecond, 1000
	began := time.Now()
	r := run(t, p)
	if took := time.Since(began); took > 3*time.Second || r.Requests != 0 || r.Errors < 4 || r.Errors+r.Missed != 50 {
		t.Errorf("took %v, %d answered, %d errors, %d missed", took, r.Requests, r.Errors, r.Missed)
	}

	p.For, p.Patience = time.Minute, time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := load.Run(ctx, p); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	if _, err := load.Run(t.Context(), plan(addr)); err == nil {
		t.Error("no error")
	}
}
