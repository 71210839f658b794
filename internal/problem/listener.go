package problem

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/sluicehq/sluice/internal/fault"
)

// Faults of requests that net/http answers by itself, before any handler is asked.
var (
	ErrBadRequest         = fault.New("bad_request", "This is not an HTTP request as it must be.")
	ErrExpectation        = fault.New("expectation_failed", "Expect can ask for 100-continue only.")
	ErrUnsupportedCoding  = fault.New("unsupported_coding", "A body may be sent whole or chunked, in no other transfer coding.")
	ErrUnsupportedVersion = fault.New("unsupported_version", "The version of HTTP must be 1.0 or 1.1.")
)

// Listener gives connections on which also the answers that net/http writes by itself are problem documents that no
// cache keeps: it has no hook for them, but writes each in one piece that nothing else looks like. Only where it closes
// without a word (a peer that sends no header in time, a server that shuts down) there is nothing to make over.
func Listener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

// Accept gives the next connection.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return conn{c}, nil
}

type conn struct{ net.Conn }

// Write writes p, or the problem in its place.
func (c conn) Write(p []byte) (int, error) {
	err := faultOf(p)
	if err == nil {
		return c.Conn.Write(p)
	}
	if _, err := c.Conn.Write(whole(err)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// CloseWrite ends what is sent and still reads, so that a peer that is sending gets its answer.
func (c conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// What answers of net/http itself begin with, after the status line; a handler's have a Date in between.
var ownHeaders = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")

// faultOf is the fault that net/http answers with p, nil where p is anything else.
func faultOf(p []byte) *fault.Error {
	const version = len("HTTP/1.1 ")
	if len(p) < version+3 || p[version] < '4' || p[version] > '5' || !bytes.HasPrefix(p, []byte("HTTP/1.")) {
		return nil
	}
	status, _ := strconv.Atoi(string(p[version : version+3]))
	if status == http.StatusExpectationFailed {
		return ErrExpectation // this one comes from net/http alone
	}
	if end := bytes.IndexByte(p, '\r'); end < 0 || !bytes.HasPrefix(p[end:], ownHeaders) {
		return nil
	}
	switch status {
	case http.StatusRequestHeaderFieldsTooLarge:
		return ErrHeadersTooLarge
	case http.StatusNotImplemented:
		return ErrUnsupportedCoding
	case http.StatusHTTPVersionNotSupported:
		return ErrUnsupportedVersion
	default:
		return ErrBadRequest
	}
}

// whole is the whole answer that ends a connection with a fault.
func whole(f *fault.Error) []byte {
	p := Of(f)
	body, _ := json.Marshal(p) // strings and numbers: cannot fail
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nCache-Control: no-store\r\nConnection: close\r\nContent-Length: %d\r\nContent-Type: %s\r\nDate: %s\r\n%s: %s\r\n\r\n",
		p.Status, http.StatusText(p.Status), len(body), ContentType, time.Now().UTC().Format(http.TimeFormat), RequestIDHeader, newID()[0])
	return append([]byte(head), body...)
}
