package redistest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Door is a way to a server on which commands are refused or their answers held up, and which can be led to another server.
// It hands on one command of a connection after the other.
type Door struct {
	listener net.Listener
	wait     sync.WaitGroup
	closed   chan struct{}

	mu    sync.Mutex
	to    string
	rule  func(command []string) Fate
	conns map[net.Conn]bool
}

// Fate is what becomes of one command. The zero value: it is handed on.
type Fate struct {
	Refuse string        // answered by this error, and not handed on; "" = handed on
	Hold   time.Duration // before the answer is handed back
}

// NewDoor opens a door to host:port, which is closed with the test.
func NewDoor(tb testing.TB, to string) *Door {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	d := &Door{listener: l, to: to, closed: make(chan struct{}), conns: map[net.Conn]bool{}}
	d.wait.Go(d.accept)
	tb.Cleanup(func() {
		_ = l.Close()
		close(d.closed)
		d.Cut()
		d.wait.Wait()
	})
	return d
}

// Addr is the door's host:port.
func (d *Door) Addr() string { return d.listener.Addr().String() }

// Rule decides from now on what becomes of each command, given by its words, the first in capitals; nil = all are handed on. It
// is called by several goroutines at once.
func (d *Door) Rule(rule func(command []string) Fate) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rule = rule
}

// Refuse answers every command by an error from now on, but for those with which a client introduces itself, and PING and GET:
// a server that cannot serve answers them all the same.
func (d *Door) Refuse(with string) {
	d.Rule(func(command []string) Fate {
		switch command[0] {
		case "HELLO", "AUTH", "CLIENT", "SELECT", "PING", "GET":
			return Fate{}
		}
		return Fate{Refuse: with}
	})
}

// Lead leads new connections to another server; those that are open stay where they are.
func (d *Door) Lead(to string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.to = to
}

// Cut ends every connection.
func (d *Door) Cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.conns {
		_ = c.Close()
	}
}

func (d *Door) accept() {
	for {
		in, err := d.listener.Accept()
		if err != nil {
			return
		}
		d.wait.Go(func() {
			defer in.Close()
			d.mu.Lock()
			d.conns[in] = true
			to := d.to
			d.mu.Unlock()
			defer func() {
				d.mu.Lock()
				defer d.mu.Unlock()
				delete(d.conns, in)
			}()
			if out, err := net.Dial("tcp", to); err == nil {
				d.serve(in, out)
				_ = out.Close()
			}
		})
	}
}

// serve hands on the commands of a connection until one of its ends is closed.
func (d *Door) serve(in, out net.Conn) {
	asked, answered := bufio.NewReader(in), bufio.NewReader(out)
	for {
		command, err := value(asked)
		if err != nil {
			return
		}
		fate := d.fate(command)
		answer := []byte("-" + fate.Refuse + "\r\n")
		if fate.Refuse == "" {
			if _, err := out.Write(command); err != nil {
				return
			}
			if answer, err = value(answered); err != nil {
				return
			}
		}
		if fate.Hold > 0 {
			select {
			case <-time.After(fate.Hold):
			case <-d.closed:
			}
		}
		if _, err := in.Write(answer); err != nil {
			return
		}
	}
}

func (d *Door) fate(command []byte) Fate {
	d.mu.Lock()
	rule := d.rule
	d.mu.Unlock()
	if rule == nil {
		return Fate{}
	}
	var words []string
	parts := bytes.Split(command, []byte("\r\n")) // *n, and for each word $n and the word
	for i := 2; i < len(parts); i += 2 {
		words = append(words, string(parts[i]))
	}
	if len(words) == 0 {
		return Fate{}
	}
	words[0] = strings.ToUpper(words[0])
	return rule(words)
}

// value reads one value of the protocol (RESP 2 and 3), as it comes.
func value(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	n, parts := 0, 1
	switch line[0] {
	case '$', '=', '!', '*', '~', '>', '%', '|':
		if n, err = strconv.Atoi(strings.TrimSpace(string(line[1:]))); err != nil {
			return nil, fmt.Errorf("length %q: %w", line, err)
		}
	case '+', '-', ':', ',', '#', '_', '(':
		return line, nil
	default:
		return nil, errors.New("no value of the protocol")
	}
	switch line[0] {
	case '$', '=', '!':
		if n < 0 {
			return line, nil
		}
		body := make([]byte, n+2)
		_, err := io.ReadFull(r, body)
		return append(line, body...), err
	case '%', '|':
		parts = 2
	}
	for range n * parts {
		part, err := value(r)
		if err != nil {
			return nil, err
		}
		line = append(line, part...)
	}
	if line[0] == '|' { // what it says is about the value that follows
		part, err := value(r)
		return append(line, part...), err
	}
	return line, nil
}
