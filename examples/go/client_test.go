package sluice_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	sluice "github.com/sluicehq/sluice/examples/go"
	"github.com/sluicehq/sluice/internal/sitetest"
)

// A visitor lines up, hears where it stands, and goes on with its pass.
func ExampleClient_Wait() {
	ctx := context.Background()
	client, err := sluice.New(sluice.Options{URL: "https://queue.example"})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := client.Wait(ctx, "sku-1", func(a sluice.Answer) {
		if a.Place != nil && a.Place.Position != nil {
			fmt.Println("position", *a.Place.Position)
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	if answer.Action == sluice.Pass && answer.Pass != nil {
		// Go on; send answer.Pass.Token to the shop as Sluice-Pass.
		defer client.Finish(ctx, "sku-1")
	}
}

// What the document shows is the example, which compiles.
func TestTheDocumentShowsTheExample(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/integrate/go-client.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("client_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(doc), "```go\n")
	shown, _, found := strings.Cut(shown, "```")
	if plain := strings.ReplaceAll("\n"+string(source), "\n\t", "\n"); !found || !strings.Contains(plain, shown) {
		t.Errorf("not in the example:\n%s", shown)
	}
}

// flaky loses every other call.
type flaky struct{ calls atomic.Int64 }

func (f *flaky) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.calls.Add(1)%2 == 0 {
		return nil, errors.New("no network")
	}
	return http.DefaultTransport.RoundTrip(r)
}

func client(t *testing.T, o sluice.Options) *sluice.Client {
	t.Helper()
	c, err := sluice.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheClient(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, "")
	s.Call("PATCH", "/policies/*", `{"claim_seconds": 10, "return_origins": ["https://shop.example"]}`) // bounds the pause between two polls
	ctx := t.Context()

	t.Run("lines up, waits through a bad network, and buys", func(t *testing.T) {
		t.Parallel()
		s.On("sku-1", 0)
		c := client(t, sluice.Options{URL: s.Sluice, HTTP: &http.Client{Transport: &flaky{}}, Return: "https://shop.example/p?a=1"})
		var heard []sluice.Answer
		answer, err := c.Wait(ctx, "sku-1", func(a sluice.Answer) {
			if heard = append(heard, a); len(heard) == 1 {
				s.On("sku-1", 10)
			}
		})
		if err != nil || answer.Action != sluice.Pass || answer.Reason != sluice.Admitted || answer.Pass == nil || answer.Pass.Token == "" {
			t.Fatalf("%+v, %v", answer, err)
		}
		if first := heard[0]; first.Reason != sluice.QueueOn || first.Place == nil || *first.Place.Position != 1 || !strings.Contains(first.Place.WaitURL, "return=https%3A%2F%2Fshop.example%2Fp%3Fa%3D1") {
			t.Errorf("in line: %+v", first)
		}
		if last := heard[len(heard)-1]; last.Reason != sluice.Admitted {
			t.Errorf("the last that is heard is %+v", last)
		}
		c = client(t, sluice.Options{URL: s.Sluice, Identity: c.Identity()}) // the program starts anew
		renewed, err := c.Renew(ctx, []string{answer.Pass.Token, "none"})
		if err != nil || len(renewed) != 2 || renewed[0].Token == "" || renewed[0].Error != "" || renewed[1].Error != sluice.RenewalInvalid {
			t.Errorf("renewed: %+v, %v", renewed, err)
		}
		if a, err := c.Check(ctx, "sku-1"); err != nil || a.Reason != sluice.PassValid {
			t.Errorf("inside: %+v, %v", a, err)
		}
		if err := c.Finish(ctx, "sku-1"); err != nil || c.Identity().Passes["sku-1"] != "" {
			t.Errorf("bought: %v, %v", err, c.Identity())
		}
	})
	t.Run("keeps its place from run to run, and leaves it", func(t *testing.T) {
		t.Parallel()
		s.On("sku-2", 0)
		var refusal *sluice.Error
		c := client(t, sluice.Options{URL: s.Sluice})
		if _, err := c.Status(ctx, "sku-2"); !errors.As(err, &refusal) || refusal.Code != "no_place" || refusal.Status != 404 {
			t.Errorf("before the line: %v", err)
		}
		first, err := c.Check(ctx, "sku-2")
		if err != nil {
			t.Fatal(err)
		}
		kept, err := json.Marshal(c.Identity())
		if err != nil {
			t.Fatal(err)
		}
		var id sluice.Identity
		if err := json.Unmarshal(kept, &id); err != nil {
			t.Fatal(err)
		}
		c = client(t, sluice.Options{URL: s.Sluice, Identity: id})
		again, err := c.Status(ctx, "sku-2")
		if err != nil || *again.Place.Position != 1 || !again.Place.JoinedAt.Equal(*first.Place.JoinedAt) {
			t.Errorf("%+v, then %+v, %v", first.Place, again.Place, err)
		}
		for range 2 {
			if err := c.Leave(ctx, "sku-2"); err != nil {
				t.Error(err)
			}
		}
		if _, err := c.Status(ctx, "sku-2"); !errors.As(err, &refusal) || refusal.Code != "no_place" {
			t.Errorf("after leaving: %v", err)
		}
	})
	t.Run("asks for a server's user", func(t *testing.T) {
		t.Parallel()
		var made struct{ Token string }
		if err := json.Unmarshal([]byte(s.Call("POST", "/tokens", `{"name": "shop", "role": "service"}`)), &made); err != nil {
			t.Fatal(err)
		}
		s.On("sku-3", 0)
		for range 2 { // on two devices, with nothing kept
			c := client(t, sluice.Options{URL: s.Sluice, User: sluice.User{ID: "user-7", ServiceToken: made.Token}})
			if a, err := c.Check(ctx, "sku-3"); err != nil || *a.Place.Position != 1 || a.Queue.Waiting != 1 {
				t.Errorf("%+v, %v", a, err)
			}
		}
		var refusal *sluice.Error
		c := client(t, sluice.Options{URL: s.Sluice, User: sluice.User{ID: "user-7", ServiceToken: "wrong"}})
		if _, err := c.Check(ctx, "sku-3"); !errors.As(err, &refusal) || refusal.Code != "user_needs_service_token" {
			t.Errorf("with a wrong token: %v", err)
		}
	})
	t.Run("ends a wait with its context, and at a refusal", func(t *testing.T) {
		t.Parallel()
		s.On("sku-4", 0)
		waiting, cancel := context.WithCancel(ctx)
		c := client(t, sluice.Options{URL: s.Sluice})
		if _, err := c.Wait(waiting, "sku-4", func(sluice.Answer) { cancel() }); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		var refusal *sluice.Error
		if _, err := c.Wait(ctx, "not an item", nil); !errors.As(err, &refusal) || refusal.Code != "invalid_item" {
			t.Errorf("a bad name: %v", err)
		}
	})
}

func TestOptionsThatAreWrongAreRefused(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]sluice.Options{
		"no address":            {},
		"no scheme":             {URL: "queue.example"},
		"a query":               {URL: "https://queue.example?x"},
		"a user without token":  {URL: "https://queue.example", User: sluice.User{ID: "7"}},
		"a token without  user": {URL: "https://queue.example", User: sluice.User{ServiceToken: "t"}},
	} {
		if _, err := sluice.New(o); err == nil {
			t.Errorf("%s is no error", name)
		}
	}
}
