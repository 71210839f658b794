package problem

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

	"github.com/gin-gonic/gin"
)

// What net/http answers before any handler is asked is a problem that no cache keeps, as everything else.
func TestAnswersOfTheServerItselfAreProblems(t *testing.T) {
	t.Parallel()
	e := NewEngine(nil)
	e.Use(Identify, Recover, Bound)
	e.GET("/plain", func(c *gin.Context) { c.String(http.StatusBadRequest, "a handler's own") })
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: e, MaxHeaderBytes: MaxHeaders, DisableGeneralOptionsHandler: true, ReadHeaderTimeout: time.Minute}
	go s.Serve(Listener(inner))
	t.Cleanup(func() { s.Close() })
	pad := func(n int) string { return "X-Pad: " + strings.Repeat("x", n) + "\r\n" }
	for _, tc := range []struct {
		name, sent string
		status     int
		code       string // "" = no problem
	}{
		{"bad percent-encoding", "GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", 400, "bad_request"},
		{"no host", "GET / HTTP/1.1\r\n\r\n", 400, "bad_request"},
		{"two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "bad_request"},
		{"a host that is none", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400, "bad_request"},
		{"a header that is none", "GET / HTTP/1.1\r\nHost: h\r\nnonsense\r\n\r\n", 400, "bad_request"},
		{"a control character in a header", "GET / HTTP/1.1\r\nHost: h\r\nX: a\x01b\r\n\r\n", 400, "bad_request"},
		{"a blank in a header's name", "GET / HTTP/1.1\r\nHost: h\r\nX y: z\r\n\r\n", 400, "bad_request"},
		{"a length that is none", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n", 400, "bad_request"},
		{"two lengths", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, "bad_request"},
		{"no HTTP at all", "\x16\x03\x01\x02\x00\r\n\r\n", 400, "bad_request"},
		{"another version", "GET / HTTP/3.7\r\nHost: h\r\n\r\n", 505, "unsupported_version"},
		{"another transfer coding", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "unsupported_coding"},
		{"another expectation", "POST / HTTP/1.1\r\nHost: h\r\nExpect: the-worst\r\nContent-Length: 0\r\n\r\n", 417, "expectation_failed"},
		{"17 KiB of headers", "GET / HTTP/1.1\r\nHost: h\r\n" + pad(17<<10) + "\r\n", 431, "headers_too_large"},
		{"40 KiB of headers", "GET / HTTP/1.1\r\nHost: h\r\n" + pad(40<<10) + "\r\n", 431, "headers_too_large"},
		{"a long address", "GET /" + strings.Repeat("x", 40<<10) + " HTTP/1.1\r\nHost: h\r\n\r\n", 431, "headers_too_large"},
		{"15 KiB of headers", "GET /nowhere HTTP/1.1\r\nHost: h\r\n" + pad(15<<10) + "\r\n", 404, "not_found"},
		{"an unknown method", "BREW /plain HTTP/1.1\r\nHost: h\r\n\r\n", 405, "method_not_allowed"},
		{"a tunnel", "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", 404, "not_found"},
		{"a body that is too large", "POST /plain HTTP/1.1\r\nHost: h\r\nContent-Length: 70000\r\n\r\n", 413, "body_too_large"},
		{"GET of the server as a whole", "GET * HTTP/1.1\r\nHost: h\r\n\r\n", 404, "not_found"},
		{"OPTIONS of the server as a whole", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", 204, ""},
		{"a handler that answers 400 in plain text", "GET /plain HTTP/1.1\r\nHost: h\r\n\r\n", 400, ""},
		{"a second request on the connection", "GET /nowhere HTTP/1.1\r\nHost: h\r\n\r\nGET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", 404, "not_found"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, err := net.Dial("tcp", inner.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(30 * time.Second))
			go io.WriteString(c, tc.sent) // the server may stop reading
			r := bufio.NewReader(c)
			answers := 1 + strings.Count(tc.sent, "\r\n\r\nGET")
			for i := range answers {
				resp, err := http.ReadResponse(r, nil)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				status, code := tc.status, tc.code
				if i == 1 {
					status, code = 400, "bad_request"
				}
				var p Problem
				_ = json.Unmarshal(body, &p)
				h := resp.Header
				if resp.StatusCode != status || p.Code != code || code != "" && (p.Status != status || h.Get("Content-Type") != ContentType) {
					t.Errorf("answered %s %v %s", resp.Status, h, body)
				}
				if (status == 204 || code != "") && h.Get("Cache-Control") != "no-store" || h.Get(RequestIDHeader) == "" || h.Get("Date") == "" {
					t.Errorf("headers %v", h)
				}
			}
		})
	}
}

func FuzzOwnAnswers(f *testing.F) {
	f.Add([]byte("HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nDate: x\r\n\r\n"))
	f.Add([]byte(`{"item":"HTTP/1.1 400"}`))
	f.Fuzz(func(t *testing.T, p []byte) {
		fault := faultOf(p)
		if fault == nil {
			return
		}
		if resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(whole(fault)))), nil); err != nil || fmt.Sprint(resp.StatusCode) != string(p[9:12]) && resp.StatusCode != 400 {
			t.Errorf("%q becomes %v: %v", p, resp, err)
		}
	})
}
