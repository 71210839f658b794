package demo_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/demo"
)

// TestDemo reads from the demo's output what a person is to see, in this order, within a minute; and opens the shop and
// the waiting page meanwhile, as a person would.
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

// look opens the shop until its visitor is sent to the waiting page, and reads that.
func look(ctx context.Context, at demo.Addresses) error {
	body, err := read(ctx, at.Shop)
	if err != nil || !strings.Contains(body, "Sneaker 42") || !strings.Contains(body, "queue_off") {
		return fmt.Errorf("the shop before the surge: %w: %s", err, body)
	}
	for {
		body, err := read(ctx, at.Shop)
		if err != nil {
			return fmt.Errorf("the shop: %w", err)
		}
		if !strings.Contains(body, "Sneaker 42") { // it led to the waiting page
			if body, err = read(ctx, at.Wait); err != nil || !strings.Contains(body, "<html") {
				return fmt.Errorf("the waiting page: %w: %s", err, body)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the shop led nobody to the waiting page")
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// read opens a page as a browser that has never been here.
func read(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Accept", "text/html")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, resp.Status)
	}
	return string(body), err
}
