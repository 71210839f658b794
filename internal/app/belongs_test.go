package app_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/internal/ticket"
	"github.com/sluicehq/sluice/queue"
)

// keyring opens what the nodes of a rig sign.
func (r *rig) keyring() *ticket.Keyring {
	r.t.Helper()
	secrets, err := ticket.ParseSecret(base64.StdEncoding.EncodeToString(secret[0]))
	if err != nil {
		r.t.Fatal(err)
	}
	return ticket.New(secrets)
}

// id is the visitor behind a client's token.
func (v *visitor) id() queue.Visitor {
	v.r.t.Helper()
	open, err := v.r.keyring().OpenVisitor(v.token, time.Now())
	if err != nil {
		v.r.t.Fatal(err)
	}
	return open.ID
}

// B064: while half of the requests are gone after a millisecond and the store is slow, every answer belongs to whoever
// asked. To be run under the race detector.
func TestAnswersBelongToWhoeverAsked(t *testing.T) {
	t.Parallel()
	jars, rounds := 200, 4
	if full {
		jars, rounds = 2000, 15
	}
	r := newRig(t, 1)
	r.via = slowly(t, r.redis.Addr(), 300*time.Millisecond)
	for i := 1; i <= 3; i++ {
		r.start(i, nil)
	}
	r.policy("sku-1", map[string]any{"inflow_per_second": 20, "on_store_failure": "closed"})
	r.activate("sku-1")
	keys := r.keyring()
	var whole, away, cut atomic.Int64
	const at = 64 // jars at once: more would be an outage to a store this slow
	together(at, func(from int) {
		for k := from; k < jars; k += at {
			known := ticket.NewVisitor(queue.NewVisitor(), time.Now().UnixMilli())
			token := keys.SealJar(ticket.NewJar(known))
			for round := range rounds {
				patience := 10 * time.Second
				if (k+round)%2 == 0 {
					patience = time.Millisecond
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				reason, err := r.belongs(ctx, 1+(k+round)%3, keys, known.ID, token, fmt.Sprintf("request-%d-%d", k, round))
				cancel()
				switch {
				case err != nil:
					t.Error(err)
				case reason == "":
					cut.Add(1)
				case reason == "store_down":
					away.Add(1)
				default:
					whole.Add(1)
				}
			}
		}
	})
	t.Logf("%d answers of the line, %d of an outage, %d requests cut", whole.Load(), away.Load(), cut.Load())
	if want := int64(jars * rounds / 2); whole.Load()+away.Load() < want*9/10 || whole.Load() < want/4 || cut.Load() == 0 {
		t.Errorf("%d requests were waited for", want)
	}
}

// belongs sends one check to a node, and errs where anything in its answer is another's.
func (r *rig) belongs(ctx context.Context, i int, keys *ticket.Keyring, who queue.Visitor, token, id string) (reason string, err error) {
	req, err := http.NewRequestWithContext(ctx, "GET", "http://"+r.nodes[i].Addresses().Visitor+"/v1/items/sku-1/check", nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Cookie", "sluice_visitor="+token)
	req.Header.Set("X-Request-Id", id)
	resp, err := r.client.Do(req)
	if err != nil {
		return "", nil // cut
	}
	defer resp.Body.Close()
	var a answer
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return "", nil // cut
	}
	if got := resp.Header.Get("X-Request-Id"); got != id {
		return "", fmt.Errorf("request id %q, want %q", got, id)
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %d %s", id, resp.StatusCode, a.Code)
	}
	if v, err := keys.OpenVisitor(a.Visitor, time.Now()); err != nil || v.ID != who {
		return "", fmt.Errorf("%s: another's visitor, %v", id, err)
	}
	if a.Place != nil && a.Place.Ticket != "" {
		if t, err := keys.OpenTicket("sku-1", a.Place.Ticket, time.Now()); err != nil || t.Visitor != who {
			return "", fmt.Errorf("%s: another's ticket, %v", id, err)
		}
	}
	if a.Pass != nil {
		var claims struct{ Sub string }
		body, err := base64.RawURLEncoding.DecodeString(strings.Split(a.Pass.Token, ".")[1])
		if err == nil {
			err = json.Unmarshal(body, &claims)
		}
		if err != nil || claims.Sub != string(who) {
			return "", fmt.Errorf("%s: another's pass, %v", id, err)
		}
	}
	for _, cookie := range resp.Cookies() {
		if jar, err := keys.OpenJar(cookie.Value, time.Now()); err != nil || jar.Visitor.ID != who {
			return "", fmt.Errorf("%s: another's cookie, %v", id, err)
		}
	}
	return a.Reason, nil
}
