package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// Response is an answer. Body is valid until the connection's next request.
type Response struct {
	Status int
	Body   []byte
}

// Conn is one connection. It belongs to one goroutine. After an error it has to be closed.
type Conn struct {
	conn   net.Conn
	buf    []byte
	n      int // bytes in buf
	closes bool
	stop   func() bool
}

// mostAnswer bounds head and body of an answer.
const mostAnswer = 1 << 20

// ErrAnswer says that an answer is not one that this client understands: no HTTP/1.1, no Content-Length, or too long.
var ErrAnswer = errors.New("load: not an answer with a length")

// Dial connects to host:port. Every exchange has to be over at the deadline, and ends with ctx.
func Dial(ctx context.Context, addr string, deadline time.Time) (*Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(deadline); err != nil {
		conn.Close()
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	return &Conn{conn: conn, buf: make([]byte, 8<<10), stop: stop}, nil
}

// Close closes the connection.
func (c *Conn) Close() {
	c.stop()
	c.conn.Close()
}

// Closes reports whether the server said with the last answer that it closes the connection.
func (c *Conn) Closes() bool { return c.closes }

// Do sends one request and reads its answer.
func (c *Conn) Do(request []byte) (Response, error) {
	if _, err := c.conn.Write(request); err != nil {
		return Response{}, err
	}
	return c.read()
}

var headEnd = []byte("\r\n\r\n")

func (c *Conn) read() (Response, error) {
	c.n = 0
	head := -1
	for from := 0; head < 0; {
		if err := c.more(); err != nil {
			return Response{}, err
		}
		if i := bytes.Index(c.buf[from:c.n], headEnd); i >= 0 {
			head = from + i + len(headEnd)
		}
		from = max(0, c.n-len(headEnd)+1)
	}
	r, size, err := c.head(c.buf[:head])
	if err != nil {
		return r, err
	}
	if head+size > mostAnswer {
		return r, ErrAnswer
	}
	for c.n < head+size {
		if err := c.more(); err != nil {
			return r, err
		}
	}
	if c.n > head+size {
		return r, fmt.Errorf("%w: bytes after it", ErrAnswer)
	}
	r.Body = c.buf[head : head+size]
	return r, nil
}

// more reads what there is to read.
func (c *Conn) more() error {
	if c.n == len(c.buf) {
		if c.n >= mostAnswer {
			return ErrAnswer
		}
		c.buf = append(c.buf, make([]byte, len(c.buf))...)
	}
	n, err := c.conn.Read(c.buf[c.n:])
	c.n += n
	if n > 0 {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

var (
	protocol   = []byte("HTTP/1.1 ")
	length     = []byte("content-length")
	connection = []byte("connection")
	coding     = []byte("transfer-encoding")
)

// head reads status and length.
func (c *Conn) head(b []byte) (r Response, size int, err error) {
	if len(b) < len(protocol)+3 || !bytes.HasPrefix(b, protocol) {
		return r, 0, fmt.Errorf("%w: %.40q", ErrAnswer, b)
	}
	for _, d := range b[len(protocol) : len(protocol)+3] {
		if d < '0' || d > '9' {
			return r, 0, fmt.Errorf("%w: %.40q", ErrAnswer, b)
		}
		r.Status = 10*r.Status + int(d-'0')
	}
	size, c.closes = -1, false
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			break
		}
		b = b[i+1:]
		colon := bytes.IndexByte(b, ':')
		if colon < 0 {
			break
		}
		switch name := b[:colon]; {
		case bytes.EqualFold(name, length):
			value := b[colon+1:]
			if i := bytes.IndexByte(value, '\r'); i >= 0 {
				value = value[:i]
			}
			if size, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil || size < 0 {
				return r, 0, fmt.Errorf("%w: length %.20q", ErrAnswer, value)
			}
		case bytes.EqualFold(name, connection):
			c.closes = bytes.HasPrefix(bytes.ToLower(bytes.TrimSpace(b[colon+1:])), []byte("close"))
		case bytes.EqualFold(name, coding):
			return r, 0, fmt.Errorf("%w: chunked", ErrAnswer)
		}
	}
	switch {
	case r.Status < 200 || r.Status == 204 || r.Status == 304:
		size = 0
	case size < 0:
		return r, 0, ErrAnswer
	}
	return r, size, nil
}

// Request makes the bytes of a request without a body. Headers are names and values in turn; empty values are left out.
func Request(method, host, path string, headers ...string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, path, host)
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] != "" {
			fmt.Fprintf(&b, "%s: %s\r\n", headers[i], headers[i+1])
		}
	}
	b.WriteString("\r\n")
	return []byte(b.String())
}
