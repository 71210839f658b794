package bench

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/internal/fleet"
	"github.com/sluicehq/sluice/internal/load"
	"github.com/sluicehq/sluice/internal/ticket"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/redisline"
)

// still is a policy under which nobody leaves by himself: what a case seeds stays as it is.
func still(more map[string]any) map[string]any {
	p := map[string]any{
		"inflow_per_second": 0, "abandon_seconds": 86400, "claim_seconds": 3600, "session_seconds": 86400,
		"return_seconds": 3600, "trigger_requests": queue.MaxNumber, "on_store_failure": "closed",
	}
	for k, v := range more {
		p[k] = v
	}
	return p
}

// open sets an item's policy, turns its queue on and waits until every node knows.
func (f *testbed) open(ctx context.Context, item string, policy map[string]any) error {
	if err := f.Policy(ctx, item, policy); err != nil {
		return err
	}
	if err := f.Act(ctx, item, "activate", nil); err != nil {
		return err
	}
	_, err := f.Known(ctx, item)
	return err
}

// hosts are those of all serving nodes.
func (f *testbed) hosts() (all []string) {
	for _, n := range f.Nodes {
		all = append(all, n.Host())
	}
	return all
}

// storeLine is the line as nodes see it, straight in the store. now = nil is the store's own clock.
func storeLine(store *redis.Client, now clock.Clock) *redisline.Line {
	return redisline.New(redisline.Options{Client: store, Prefix: "sluice:", Clock: now})
}

// allTheTime is the end of runs that end by their number of requests.
const allTheTime = 10 * time.Minute

// batchOf is how many people one call of seed puts into line.
const batchOf = 100

// seed puts n newcomers into the line of an item whose queue is on, in batches, without any node. Each is told of each who is in
// line.
func seed(ctx context.Context, line *redisline.Line, item string, n int, each func(i int, v queue.Visitor, a queue.Answer)) (queue.Header, error) {
	var header queue.Header
	asks := make([]queue.Ask, 0, batchOf)
	for i := 0; i < n; {
		asks = asks[:0]
		for range min(batchOf, n-i) {
			asks = append(asks, queue.Ask{Visitor: queue.NewVisitor(), Create: true})
		}
		got, err := line.Ask(ctx, queue.Item(item), asks)
		if err != nil {
			return header, err
		}
		header = got.Header
		for j, a := range got.Answers {
			if a.Outcome == queue.Inside {
				continue // the line was empty and a token due
			}
			if a.Outcome != queue.Waiting {
				return header, fmt.Errorf("seed %s: newcomer %d is not in line (outcome %d)", item, i+j, a.Outcome)
			}
			if each != nil {
				each(i+j, asks[j].Visitor, a)
			}
		}
		i += len(asks)
	}
	return header, nil
}

// signer makes the tokens that nodes would have given.
type signer struct{ keys *ticket.Keyring }

func newSigner() (signer, error) {
	secrets, err := ticket.ParseSecret(fleet.SecretKey)
	if err != nil {
		return signer{}, err
	}
	return signer{ticket.New(secrets)}, nil
}

// visitor is the token of a visitor.
func (s signer) visitor(v queue.Visitor) string {
	return s.keys.SealVisitor(ticket.NewVisitor(v, time.Now().UnixMilli()))
}

// place is the ticket of a place.
func (s signer) place(item string, v queue.Visitor, h queue.Header, score, shown int64) string {
	now := time.Now().UnixMilli()
	return s.keys.SealTicket(queue.Item(item), ticket.Ticket{
		Visitor: v, JoinedMS: score / 1000, EndsMS: now + 3_600_000,
		Place: queue.Ticket{Generation: h.Generation, Epoch: h.Epoch, Score: score, IssuedMS: now, ShownMost: shown},
	})
}

// status is the poll of a place, as the waiting page sends it.
func (s signer) status(host, item string, v queue.Visitor, h queue.Header, score, shown int64) []byte {
	return load.Request(http.MethodGet, host, "/v1/items/"+item+"/status",
		"Sluice-Visitor", s.visitor(v), "Sluice-Ticket", s.place(item, v, h, score, shown))
}

// turns gives each connection requests of its own part of all, in turn.
func turns(requests [][]byte, conns int) func(conn int) []byte {
	at := make([]struct {
		i int
		_ [56]byte // a line of the cache for each
	}, conns)
	for c := range at {
		at[c].i = c
	}
	return func(conn int) []byte {
		i := at[conn].i
		at[conn].i = i + conns
		return requests[i%len(requests)]
	}
}
