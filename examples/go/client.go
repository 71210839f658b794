// Package sluice is a client of the visitor API of Sluice, for apps and servers that are written in Go. It needs the
// standard library alone and nothing of the rest of this module: import it, or copy its two files.
//
//	client, err := sluice.New(sluice.Options{URL: "https://queue.example"})
//	answer, err := client.Wait(ctx, "sku-1", nil)
//
// A Go service whose pages are to be guarded takes package pass instead, which does all of it for browsers.
package sluice

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Options configures a Client. URL is required; the zero value of every other field is its default.
type Options struct {
	URL      string       // where Sluice is: https://queue.example
	Identity Identity     // what was kept of a visitor; a new one is made without it
	User     User         // a server that asks for its own user names the user
	Return   string       // where the waiting page of Place.WaitURL leads back to; "" = nowhere
	HTTP     *http.Client // nil = one that gives a call 10 s
}

// User is one of a server's own users, who has the same place from whatever device.
type User struct {
	ID           string // 1 to 256 bytes
	ServiceToken string // sluice token add shop --role service
}

// Identity is what to keep of a visitor between two runs of a program. All of it is signed and of use to nobody else.
type Identity struct {
	Visitor string            `json:"visitor,omitempty"`
	Tickets map[string]string `json:"tickets,omitempty"` // by item
	Passes  map[string]string `json:"passes,omitempty"`  // by item
}

// Client speaks for one visitor: it keeps what says who asks, and sends it along. It is safe for use by many goroutines.
type Client struct {
	url, back string
	user      User
	http      *http.Client

	mu sync.Mutex
	id Identity
}

// New makes a client.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("sluice: URL is %q, must be an address like https://queue.example", o.URL)
	}
	if (o.User.ID == "") != (o.User.ServiceToken == "") {
		return nil, errors.New("sluice: a User has both an ID and a ServiceToken")
	}
	c := &Client{url: strings.TrimRight(o.URL, "/"), back: o.Return, user: o.User, http: o.HTTP, id: clone(o.Identity)}
	if c.http == nil {
		c.http = &http.Client{Timeout: 10 * time.Second}
	}
	return c, nil
}

func clone(id Identity) Identity {
	c := Identity{Visitor: id.Visitor, Tickets: map[string]string{}, Passes: map[string]string{}}
	maps.Copy(c.Tickets, id.Tickets)
	maps.Copy(c.Passes, id.Passes)
	return c
}

// Identity is what to keep of this visitor.
func (c *Client) Identity() Identity {
	c.mu.Lock()
	defer c.mu.Unlock()
	return clone(c.id)
}

// Check asks whether this visitor may open an item. It counts as traffic of the item, and takes a place where there is a
// queue.
func (c *Client) Check(ctx context.Context, item string) (Answer, error) {
	return c.ask(ctx, item, "check")
}

// Status asks where this visitor stands. It counts nothing and takes no place: an *Error with the code "no_place" where
// there is none. The first one after an admission claims it.
func (c *Client) Status(ctx context.Context, item string) (Answer, error) {
	return c.ask(ctx, item, "status")
}

// Wait checks, and polls as told until the answer is no longer Wait; it gives that answer. heard, unless nil, hears of
// every answer. What fails on the way (no network, a server that restarts) is tried again until ctx ends; only a refusal,
// such as that there is no place any more, ends it.
func (c *Client) Wait(ctx context.Context, item string, heard func(Answer)) (Answer, error) {
	answer, err := c.Check(ctx, item)
	if err != nil {
		return answer, err
	}
	for failures := 0; ; {
		if failures == 0 && heard != nil {
			heard(answer)
		}
		if answer.Action != Wait {
			return answer, nil
		}
		pause := time.Second << min(failures, 5)
		if failures == 0 && answer.Place != nil {
			pause = time.Duration(answer.Place.PollAfterMS) * time.Millisecond
		}
		select {
		case <-ctx.Done():
			return answer, ctx.Err()
		case <-time.After(pause):
		}
		next, err := c.Status(ctx, item)
		switch refusal := (*Error)(nil); {
		case err == nil:
			answer, failures = next, 0
		case ctx.Err() != nil:
			return answer, ctx.Err()
		case errors.As(err, &refusal) && refusal.Status < 500 && refusal.Status != http.StatusTooManyRequests:
			return answer, err
		default:
			failures++
		}
	}
}

// Leave leaves the line. Leaving twice is no error.
func (c *Client) Leave(ctx context.Context, item string) error {
	if err := c.call(ctx, http.MethodDelete, item, "place", nil); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.id.Tickets, item)
	return nil
}

// Finish ends the visit early, once the order is placed: the slot is free at once.
func (c *Client) Finish(ctx context.Context, item string) error {
	if err := c.call(ctx, http.MethodPost, item, "finish", nil); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.id.Passes, item)
	return nil
}

// Renew renews passes, for origins that verify them offline: at most 100, answered in the same order.
func (c *Client) Renew(ctx context.Context, passes []string) ([]Renewal, error) {
	body, err := json.Marshal(map[string][]string{"passes": passes})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/v1/passes/renew", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	var answer struct {
		Passes []Renewal `json:"passes"`
	}
	return answer.Passes, c.do(req, &answer)
}

// ask asks a question, and keeps what the answer says of the visitor.
func (c *Client) ask(ctx context.Context, item, question string) (a Answer, err error) {
	if err := c.call(ctx, http.MethodGet, item, question, &a); err != nil {
		return a, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.id.Visitor = a.Visitor
	if a.Place != nil && a.Place.Ticket != nil {
		c.id.Tickets[item] = *a.Place.Ticket
	}
	if a.Pass != nil {
		c.id.Passes[item] = a.Pass.Token
		delete(c.id.Tickets, item)
	}
	return a, nil
}

// call makes a call about an item, as this visitor.
func (c *Client) call(ctx context.Context, method, item, what string, into any) error {
	query := url.Values{}
	if c.user.ID != "" {
		query.Set("user", c.user.ID)
	}
	if c.back != "" {
		query.Set("return", c.back)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.url+"/v1/items/"+url.PathEscape(item)+"/"+what+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	if c.user.ID != "" {
		req.Header.Set("Authorization", "Bearer "+c.user.ServiceToken)
	}
	c.mu.Lock()
	for name, value := range map[string]string{"Sluice-Visitor": c.id.Visitor, "Sluice-Ticket": c.id.Tickets[item], "Sluice-Pass": c.id.Passes[item]} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	c.mu.Unlock()
	return c.do(req, into)
}

// mostAnswer is the longest answer in bytes that is read: a hundred passes, with room.
const mostAnswer = 1 << 20

// do makes a call and reads its answer, unless into is nil.
func (c *Client) do(req *http.Request, into any) error {
	req.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	switch {
	case err != nil:
		return fmt.Errorf("sluice: read the answer: %w", err)
	case resp.StatusCode >= 300:
		e := &Error{}
		if json.Unmarshal(body, e) != nil || e.Code == "" {
			e.Code, e.Detail = "unknown", "Sluice answers "+resp.Status
		}
		e.Status = resp.StatusCode
		return e
	case into == nil:
		return nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("sluice: an answer that is none: %w", err)
	}
	return nil
}
