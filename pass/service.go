package pass

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// restAfter is how long Sluice is left alone after a call that failed: until then it counts as unreachable, so that no
// request waits for a service that is away.
const restAfter = time.Second

var (
	errAway = errors.New("pass: Sluice cannot be reached")
	errItem = errors.New("pass: not a name of an item")
)

// refusal is an answer that says no to the question. A visitor brings it about, by a header that is too long or by too many
// questions: it is no outage.
type refusal struct {
	status     int
	code       string
	retryAfter string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("pass: Sluice refuses the question: %d %s", r.status, r.code)
}

// service makes the calls of Sluice.
type service struct {
	o      *Options
	client *http.Client
	counts *counts
	rests  atomic.Int64 // until when, Unix nanoseconds; 0 = it answers
	warned atomic.Int64 // when a refusal was last logged, Unix nanoseconds
}

// warn logs a refusal, once a minute at most: visitors bring them about at will, by a host name of their own.
func (s *service) warn(text string, args ...any) {
	now := s.o.Now().UnixNano()
	if last := s.warned.Load(); now-last > int64(time.Minute) && s.warned.CompareAndSwap(last, now) {
		s.o.Log.Warn(text, args...)
	}
}

// verdict is what check answers, as far as it matters here.
type verdict struct {
	Action string `json:"action"`
	Reason string `json:"reason"`
	Place  *struct {
		WaitURL string `json:"wait_url"`
	} `json:"place"`
	Pass *struct {
		Token string `json:"token"`
	} `json:"pass"`

	waitURL string
	cookies []string // lines of Set-Cookie
}

// check asks Sluice about a request, as the visitor who makes it.
func (s *service) check(g *guest) (*verdict, error) {
	back := siteOf(s.o, g.r) + pathOf(g.r, g.r.URL.RawQuery)
	v, err := s.ask(g, "?return="+url.QueryEscape(back))
	var no *refusal
	if errors.As(err, &no) && no.code == "return_not_allowed" {
		s.warn("Sluice does not send visitors back here: add this site to return_origins of the item's policy", "item", g.item, "site", siteOf(s.o, g.r))
		back = ""
		v, err = s.ask(g, "")
	}
	switch {
	case errors.As(err, &no) && no.code == "invalid_item":
		return nil, errItem
	case errors.As(err, &no):
		s.warn("Sluice refuses the question", "item", g.item, "status", no.status, "code", no.code)
		return nil, no
	case err != nil:
		return nil, err
	}
	if v.Action != "pass" {
		if v.Place != nil && strings.HasPrefix(v.Place.WaitURL, s.o.Service+"/") {
			v.waitURL = v.Place.WaitURL
		} else {
			v.waitURL = s.o.Service + "/wait/" + url.PathEscape(g.item)
			if back != "" {
				v.waitURL += "?return=" + url.QueryEscape(back)
			}
		}
	}
	return v, nil
}

// ask makes the call.
func (s *service) ask(g *guest, query string) (*verdict, error) {
	req, err := http.NewRequestWithContext(g.r.Context(), http.MethodGet, s.o.Reach+"/v1/items/"+url.PathEscape(g.item)+"/check"+query, nil)
	if err != nil {
		return nil, err
	}
	identify(req, g)
	resp, body, err := s.do(req)
	if err != nil {
		return nil, err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		v := &verdict{cookies: resp.Header["Set-Cookie"]}
		if err := json.Unmarshal(body, v); err != nil || v.Action != "pass" && v.Action != "wait" && v.Action != "reject" {
			return nil, s.failed(fmt.Errorf("%w: an answer that is none", errAway))
		}
		return v, nil
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusTooManyRequests, http.StatusRequestHeaderFieldsTooLarge:
		problem := struct {
			Code string `json:"code"`
		}{}
		_ = json.Unmarshal(body, &problem)
		return nil, &refusal{resp.StatusCode, problem.Code, resp.Header.Get("Retry-After")}
	default:
		return nil, s.failed(fmt.Errorf("%w: it answers %d", errAway, resp.StatusCode))
	}
}

// identify hands on what says who the visitor is, what kind of request it is and which trace it belongs to: our own headers
// and cookies, never the site's.
func identify(req *http.Request, g *guest) {
	for _, name := range [...]string{
		"Sluice-Visitor", "Sluice-Ticket", "Sluice-Pass", "User-Agent", "Range",
		"Sec-Fetch-Dest", "Sec-Purpose", "Purpose", "X-Moz", "Traceparent", "Tracestate",
	} {
		if v := g.r.Header.Get(name); v != "" {
			req.Header.Set(name, v)
		}
	}
	if g.unknown != "" {
		req.Header.Set("Sluice-Pass", g.unknown)
	}
	var own []string
	for _, c := range g.r.CookiesNamed("sluice_visitor") {
		own = append(own, "sluice_visitor="+c.Value)
	}
	if len(own) > 0 {
		req.Header.Set("Cookie", strings.Join(own, "; "))
	}
	if g.r.Method == http.MethodHead {
		req.Header.Set("Sec-Purpose", "prefetch") // it looks, and neither counts nor takes a place
	}
	from := g.r.Header.Get("X-Forwarded-For")
	if host, _, err := net.SplitHostPort(g.r.RemoteAddr); err == nil {
		if from != "" {
			from += ", "
		}
		from += host
	}
	if from != "" {
		req.Header.Set("X-Forwarded-For", from)
	}
}

// get fetches a small document.
func (s *service) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.o.Reach+path, nil)
	if err != nil {
		return nil, err
	}
	return s.whole(req)
}

// post sends JSON and gives the answer.
func (s *service) post(ctx context.Context, path string, body any) ([]byte, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.o.Reach+path, bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	return s.whole(req)
}

func (s *service) whole(req *http.Request) ([]byte, error) {
	resp, body, err := s.do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, s.failed(fmt.Errorf("%w: it answers %d", errAway, resp.StatusCode))
	}
	return body, nil
}

// mostAnswer is the longest answer in bytes: a hundred passes, with room.
const mostAnswer = 1 << 20

// do makes a call, unless Sluice is being left alone.
func (s *service) do(req *http.Request) (*http.Response, []byte, error) {
	if s.o.Now().UnixNano() < s.rests.Load() {
		return nil, nil, errAway
	}
	resp, err := s.client.Do(req)
	if err != nil {
		if req.Context().Err() != nil {
			return nil, nil, err // the visitor went; that says nothing of Sluice
		}
		return nil, nil, s.failed(fmt.Errorf("%w: %w", errAway, err))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	if err != nil {
		return nil, nil, s.failed(fmt.Errorf("%w: %w", errAway, err))
	}
	if resp.StatusCode < 500 && s.rests.Swap(0) != 0 {
		s.o.Log.Info("Sluice answers again", "service", s.o.Reach)
	}
	return resp, body, nil
}

// failed leaves Sluice alone for a while, and says so once.
func (s *service) failed(err error) error {
	s.counts.add(Unreachable)
	if s.rests.Swap(s.o.Now().Add(restAfter).UnixNano()) == 0 {
		s.o.Log.Error("Sluice cannot be reached", "service", s.o.Reach, "error", err, "fail_open", s.o.FailOpen)
	}
	return err
}
