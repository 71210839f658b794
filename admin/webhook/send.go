package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/sluicehq/sluice/internal/clock"
)

// patience is how long one try may take, the answer included.
const patience = 15 * time.Second

// Result is what came of one try.
type Result struct {
	Status int           // of the answer; 0 = there was none
	Error  string        // what went wrong, in words of our own; "" = it was taken
	After  time.Duration // what the receiver asks to be given until the next try; 0 = it does not
	Took   time.Duration
}

// Taken reports whether the receiver took the message.
func (r Result) Taken() bool { return r.Error == "" }

// Gone reports whether the receiver wants nothing more, ever.
func (r Result) Gone() bool { return r.Status == http.StatusGone }

// Sender makes single tries.
type Sender struct {
	client *http.Client
	clock  clock.Clock
	agent  string
}

// NewSender makes one that sends to allowed targets alone, under the name of agent; c nil = clock.System.
func NewSender(t *Targets, c clock.Clock, agent string) *Sender {
	if c == nil {
		c = clock.System{}
	}
	dialer := &net.Dialer{Timeout: 5 * time.Second, Control: t.control}
	return &Sender{clock: c, agent: agent, client: &http.Client{
		Timeout: patience,
		Transport: &http.Transport{
			Proxy:                  nil, // through one, the address that is dialed would be the proxy's, whatever the target
			DialContext:            dialer.DialContext,
			ForceAttemptHTTP2:      true,
			TLSHandshakeTimeout:    5 * time.Second,
			MaxResponseHeaderBytes: 16 << 10,
			MaxConnsPerHost:        slotsEach,
			MaxIdleConns:           32,
			IdleConnTimeout:        30 * time.Second,
			DisableCompression:     true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close lets idle connections go.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// Send makes one try: the same id and body each time, another timestamp and signature. Nothing of the answer is kept
// but its status.
func (s *Sender) Send(ctx context.Context, url, id string, body []byte, secrets []string) Result {
	began := time.Now()
	r := s.send(ctx, url, id, body, secrets)
	r.Took = time.Since(began)
	return r
}

func (s *Sender) send(ctx context.Context, url, id string, body []byte, secrets []string) Result {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return Result{Error: "the url is not valid"}
	}
	req.Header.Set("Content-Type", ContentType)
	req.Header.Set("User-Agent", s.agent)
	if err := sign(req.Header, id, s.clock.Now(), body, secrets); err != nil {
		return Result{Error: "the secret is not valid"}
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return Result{Error: reason(err)}
	}
	// A short rest is read, so that the connection can be used again.
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	_ = resp.Body.Close()
	r := Result{Status: resp.StatusCode}
	switch {
	case resp.StatusCode/100 == 2:
	case resp.StatusCode/100 == 3:
		r.Error = fmt.Sprintf("answered %d: redirects are not followed", resp.StatusCode)
	default:
		r.Error = fmt.Sprintf("answered %d", resp.StatusCode)
		r.After = s.retryAfter(resp.Header.Get("Retry-After"))
	}
	return r
}

// retryAfter reads how long a receiver asks to be left alone (RFC 9110, 10.2.3); at most as long as we wait anyway.
func (s *Sender) retryAfter(text string) time.Duration {
	var d time.Duration
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		d = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		d = at.Sub(s.clock.Now())
	}
	return max(0, min(d, mostWait))
}

// reason says in words of our own why there was no answer: errors of the network name addresses inside.
func reason(err error) string {
	var timeout net.Error
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var authority x509.UnknownAuthorityError
	switch {
	case errors.Is(err, errNotPublic):
		return "refused: the name leads to an address that is not public"
	case errors.As(err, &name):
		return "the host was not found by its name"
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "timed out"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was cut"
	case errors.As(err, &certificate), errors.As(err, &authority):
		return "the certificate is not valid"
	case errors.As(err, &record):
		return "no TLS at that port"
	}
	return "no connection"
}
