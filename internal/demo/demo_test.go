package demo_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/demo"
)

// TestDemo reads from the demo's output what a person is to see, in this order, within a minute; and opens the shop, the
// waiting page and the console meanwhile, as a person would, waits in line, and buys.
func TestDemo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out strings.Builder
	at, looked := make(chan demo.Addresses, 1), make(chan error, 1)
	go func() { looked <- look(ctx, <-at) }()
	err := demo.Run(ctx, demo.Options{Out: &out, Free: true, Ready: func(a demo.Addresses) { at <- a }})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if err := <-looked; err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	rest := out.String()
	for _, see := range []string{
		`shop +http://localhost:\d+/product/sneaker-42`,
		`waiting page +http://localhost:\d+/wait/sneaker-42`,
		`console +http://localhost:\d+/admin/login\?code=`,
		`(?m)^1/8 calm .*everybody passes`,
		`(?m)^2/8 traffic rises .*\d+ checks`,
		`(?m)^3/8 queue on .*turned itself on \(by the detector\)`,
		`(?m)^4/8 line grows .*\d{3} people wait`,
		`(?m)^5/8 inflow holds .* (9\.[5-9]|10\.[0-5])/s measured, 10/s set`,
		`(?m)^6/8 people finish .*\d+ have bought`,
		`(?m)^7/8 line is empty`,
		`(?m)^8/8 queue off .*turned itself off`,
		`\d+ people came, \d+ waited`,
	} {
		found := regexp.MustCompile(see).FindStringIndex(rest)
		if found == nil {
			t.Fatalf("not to be seen in its place: %s\n%s", see, out.String())
		}
		rest = rest[found[1]:]
	}
}

// look signs in to the console, opens the shop until its visitor is sent to the waiting page, waits there, and buys.
func look(ctx context.Context, at demo.Addresses) error {
	console := newBrowser(ctx)
	if body, err := console.open(at.Console); err != nil || !strings.Contains(body, "<form") {
		return fmt.Errorf("the console's login: %w: %s", err, body)
	}
	to, err := url.Parse(at.Console)
	if err != nil {
		return err
	}
	if body, err := console.send(at.Console, to.Query()); err != nil || !strings.Contains(body, "sneaker-42") {
		return fmt.Errorf("the console: %w: %s", err, body)
	}

	body, err := newBrowser(ctx).open(at.Shop)
	if err != nil || !strings.Contains(body, "the queue is <b>off</b>") {
		return fmt.Errorf("the shop before the surge: %w: %s", err, body)
	}
	b := newBrowser(ctx)
	for waited := false; ; {
		if body, err = b.open(at.Shop); err != nil {
			return fmt.Errorf("the shop: %w", err)
		}
		switch {
		case strings.Contains(body, "your pass holds until"):
			if !waited {
				return errors.New("let in without a wait")
			}
			if body, err = b.send(at.Shop, nil); err != nil || !strings.Contains(body, "Thank you") {
				return fmt.Errorf("buying: %w: %s", err, body)
			}
			return nil
		case !strings.Contains(body, "Sneaker 42"): // it led to the waiting page
			waited = true
		default:
			b = newBrowser(ctx) // the queue is off still; who was inside before it turns on need not wait
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited: %v, and never came in: %s", waited, body)
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// browser keeps cookies and follows redirects.
type browser struct {
	ctx  context.Context
	http *http.Client
}

func newBrowser(ctx context.Context) browser {
	jar, _ := cookiejar.New(nil)
	return browser{ctx, &http.Client{Jar: jar}}
}

func (b browser) open(address string) (string, error) { return b.do(http.MethodGet, address, nil) }

// send sends a form.
func (b browser) send(address string, form url.Values) (string, error) {
	return b.do(http.MethodPost, address, strings.NewReader(form.Encode()))
}

func (b browser) do(method, address string, body io.Reader) (string, error) {
	req, err := http.NewRequestWithContext(b.ctx, method, address, body)
	if err != nil {
		return "", err
	}
	req.Header.Set("Accept", "text/html")
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := b.http.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", address, resp.Status)
	}
	return string(text), err
}
