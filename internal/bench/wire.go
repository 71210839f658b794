package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// wire is a connection for many checks of newcomers: requests go out without waiting for the answers before them
// (HTTP/1.1 pipelining), so that the client costs little beside the nodes on the same machine.
type wire struct {
	host string
	conn net.Conn
	in   *bufio.Reader
	out  *bufio.Writer
}

func dial(ctx context.Context, url string) (*wire, error) {
	host := strings.TrimPrefix(url, "http://")
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { conn.Close() }) // ends reads and writes that wait
	return &wire{host: host, conn: conn, in: bufio.NewReaderSize(conn, 16<<10), out: bufio.NewWriterSize(conn, 16<<10)}, nil
}

// check writes one check of an item; flush sends.
func (w *wire) check(item string) {
	// A bufio.Writer keeps its first error; flush gives it.
	_, _ = w.out.WriteString("GET /v1/items/")
	_, _ = w.out.WriteString(item)
	_, _ = w.out.WriteString("/check HTTP/1.1\r\nHost: ")
	_, _ = w.out.WriteString(w.host)
	_, _ = w.out.WriteString("\r\n\r\n")
}

func (w *wire) flush() error { return w.out.Flush() }

// verdict is the part of an answer that the surge heeds.
type verdict struct {
	waits      bool
	generation int64
	on         bool // the queue's state is not "off"
}

var (
	waits      = []byte(`"action":"wait"`)
	off        = []byte(`"state":"off"`)
	generation = []byte(`"generation":`)
	length     = []byte("content-length:")
)

// read reads one answer, in the order of the checks.
func (w *wire) read() (v verdict, err error) {
	line, err := w.in.ReadSlice('\n')
	if err != nil {
		return v, err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
		return v, fmt.Errorf("a check was answered %q", bytes.TrimSpace(line))
	}
	size := -1
	for {
		line, err := w.in.ReadSlice('\n')
		if err != nil {
			return v, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			break
		}
		if len(line) > len(length) && bytes.EqualFold(line[:len(length)], length) {
			if size, err = strconv.Atoi(string(bytes.TrimSpace(line[len(length):]))); err != nil {
				return v, err
			}
		}
	}
	if size < 0 || size > 16<<10 {
		return v, errors.New("an answer without a length, or a long one")
	}
	body, err := w.in.Peek(size)
	if err != nil {
		return v, err
	}
	v.waits, v.on = bytes.Contains(body, waits), !bytes.Contains(body, off)
	if i := bytes.Index(body, generation); i >= 0 {
		for _, c := range body[i+len(generation):] {
			if c < '0' || c > '9' {
				break
			}
			v.generation = v.generation*10 + int64(c-'0')
		}
	}
	_, err = w.in.Discard(size)
	return v, err
}

// depth is how many checks of one wire are out at most.
const depth = 64

// pump sends checks over one wire until next says that there are no more, and hands each answer to got together with
// the instant at which its check was sent. Next gives the items of one burst; it paces.
func pump(ctx context.Context, url string, next func() (items []string, more bool), got func(verdict, time.Time)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := dial(ctx, url)
	if err != nil {
		return err
	}
	sent := make(chan time.Time, depth)
	var g errgroup.Group
	g.Go(func() error {
		defer close(sent)
		for {
			items, more := next()
			if !more {
				return nil
			}
			for _, item := range items {
				w.check(item)
				select {
				case sent <- time.Now():
				default: // as many are out as may be: send these before waiting for an answer
					if err := w.flush(); err != nil {
						return err
					}
					select {
					case sent <- time.Now():
					case <-ctx.Done():
						return ctx.Err()
					}
				}
			}
			if err := w.flush(); err != nil {
				return err
			}
		}
	})
	g.Go(func() error {
		for at := range sent {
			v, err := w.read()
			if err != nil {
				cancel()
				if errors.Is(err, io.EOF) {
					err = errors.New("the node closed the connection")
				}
				return err
			}
			got(v, at)
		}
		return nil
	})
	return g.Wait()
}
