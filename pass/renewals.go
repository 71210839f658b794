package pass

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

const (
	gatherFor    = 200 * time.Millisecond // what comes within it is renewed by one call
	mostRenewals = 100                    // in one call
	mostKnown    = 100_000                // passes whose renewal is known or asked for
	renewAgain   = 5 * time.Second        // after a call that failed
)

// renewals renews passes beside the requests: who shows one that is a tenth through its session gets the newer one with
// the next answer after it is there. So a session goes on while its visitor is there, and one that was ended is noticed.
type renewals struct {
	service *service

	mu      sync.Mutex
	known   map[string]renewal // by the pass that was shown
	pending []string
	running bool
}

type renewal struct {
	fresh string // the newer pass, "" = not there yet
	ended bool   // the session was ended: the pass is good no more
	again time.Time
	until time.Time // when the pass that was shown has ended anyhow
}

// of gives the newer pass for one that is shown, "" = none, or says that the session was ended.
func (r *renewals) of(token string, c *Claims, now time.Time) (fresh string, ended bool) {
	session := c.ExpiresAt.Sub(c.IssuedAt)
	r.mu.Lock()
	defer r.mu.Unlock()
	k, ok := r.known[token]
	if k.ended || k.fresh != "" && k.fresh != token {
		return k.fresh, k.ended
	}
	if now.Sub(c.IssuedAt) < session/10 || now.Before(k.again) || !ok && len(r.known) >= mostKnown {
		return "", false
	}
	// Lost with the call, it is asked for anew; and a session that is not prolonged is looked at a tenth of it later.
	r.known[token] = renewal{again: now.Add(max(session/10, renewAgain)), until: c.ExpiresAt.Add(ExpiryLeeway)}
	r.pending = append(r.pending, token)
	if !r.running {
		r.running = true
		time.AfterFunc(gatherFor, r.run)
	}
	return "", false
}

// end takes note that a session was ended here: the pass that was shown is good no more, nor is the one that it was renewed
// to.
func (r *renewals) end(in *inside) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) >= mostKnown {
		r.sweep()
	}
	over := renewal{ended: true, until: in.claims.ExpiresAt.Add(ExpiryLeeway)}
	if fresh := r.known[in.token].fresh; fresh != "" {
		r.known[fresh] = renewal{ended: true, until: r.service.o.Now().Add(in.claims.ExpiresAt.Sub(in.claims.IssuedAt) + ExpiryLeeway)}
	}
	r.known[in.token] = over
}

// run renews all that is pending.
func (r *renewals) run() {
	for {
		r.mu.Lock()
		n := min(len(r.pending), mostRenewals)
		tokens := r.pending[:n:n]
		r.pending = r.pending[n:]
		if n == 0 {
			r.pending, r.running = nil, false
			r.sweep()
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		r.renew(tokens)
	}
}

// renew makes one call.
func (r *renewals) renew(tokens []string) {
	body, err := r.service.post(context.Background(), "/v1/passes/renew", map[string][]string{"passes": tokens})
	var answer struct {
		Passes []struct {
			Token string `json:"token"`
			Error string `json:"error"`
		} `json:"passes"`
	}
	if err == nil {
		err = json.Unmarshal(body, &answer)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, token := range tokens {
		k := r.known[token]
		switch {
		case k.ended: // meanwhile, here
		case err != nil || i >= len(answer.Passes):
			k.again = r.service.o.Now().Add(renewAgain)
		case answer.Passes[i].Error == "ended":
			k.ended = true
			r.service.counts.add(Ended)
		case answer.Passes[i].Error == "":
			k.fresh = answer.Passes[i].Token
			r.service.counts.add(Renewed)
		}
		r.known[token] = k
	}
}

// sweep forgets the passes that have ended.
func (r *renewals) sweep() {
	now := r.service.o.Now()
	for token, k := range r.known {
		if now.After(k.until) {
			delete(r.known, token)
		}
	}
}
