package gate

import (
	"hash/maphash"
	"strings"
	"time"

	"github.com/sluicehq/sluice/internal/recent"
	"github.com/sluicehq/sluice/internal/ticket"
	"github.com/sluicehq/sluice/pass"
	"github.com/sluicehq/sluice/queue"
)

// signedPasses remembers the passes that this node has signed, since a browser's cookie holds what they say and not
// their 400 bytes, and signing one costs 20 µs. What nobody has asked for during half a minute may go: what it costs to
// keep is seen all the time, what it costs to sign again hardly ever.
type signedPasses [signedShards]*recent.Map[signedKey, string]

const (
	signedShards = 16
	mostSigned   = 2048 // in each generation of a shard
	keepSigned   = 30 * time.Second
)

var signedSeed = maphash.MakeSeed()

type signedKey struct {
	item    queue.Item
	visitor queue.Visitor
	stub    ticket.PassStub
	kid     string
}

func newSignedPasses() (s signedPasses) {
	for i := range s {
		s[i] = recent.NewStaggered[signedKey, string](mostSigned, keepSigned, float64(i+1)/signedShards)
	}
	return s
}

func (s *signedPasses) get(k signedKey, sign func() string) string {
	shard := s[maphash.String(signedSeed, string(k.visitor))%signedShards]
	token, ok := shard.Renewed(k)
	if !ok {
		token = sign()
		k.item = queue.Item(strings.Clone(string(k.item))) // not the request that it was cut out of
		shard.Put(k, token)
	}
	return token
}

// sign gives the pass of a stub: on every node, and each time, the very same one.
func (g *Gate) sign(item queue.Item, v queue.Visitor, stub ticket.PassStub) string {
	keys := g.keys.Load()
	return g.signed.get(signedKey{item, v, stub, keys.signing.ID()}, func() string {
		return keys.signing.Sign(g.Keys.Claims(g.site.url, item, v, stub))
	})
}

// stubOf is what a verified pass says.
func stubOf(c pass.Claims) ticket.PassStub {
	return ticket.PassStub{
		Generation: queue.Generation(c.Generation), IssuedMS: c.IssuedAt.UnixMilli(), EndsMS: c.ExpiresAt.UnixMilli(),
	}
}

// holds reports whether a pass is good for a queue: not of before a reset or a sale, and not ended.
func (g *Gate) holds(h queue.Header, item queue.Item, v queue.Visitor, stub ticket.PassStub) bool {
	return stub.IssuedMS > 0 && stub.Generation >= h.PassesFrom && !g.Beats.PassEnded(item, v, stub.IssuedMS)
}

// renewed gives the pass that a visitor who shows one is answered: the same one within the first tenth of the session,
// then one issued now. It tells the store that the visitor is there.
func (g *Gate) renewed(item queue.Item, v queue.Visitor, stub ticket.PassStub, p *queue.Policy, nowMS int64) ticket.PassStub {
	fresh := stub
	if session := p.SessionSeconds * 1000; p.SessionRenewal && nowMS-stub.IssuedMS >= session/10 {
		fresh.IssuedMS = nowMS - nowMS%1000
		fresh.EndsMS = fresh.IssuedMS + session
	}
	g.beat(item, v, stub, fresh)
	return fresh
}

// beat reports a pass that was shown and the one that was given for it. The instant of issue is that of the pass shown:
// if it was ended elsewhere, the store says so, which it could not of one that is newer than its end.
func (g *Gate) beat(item queue.Item, v queue.Visitor, shown, given ticket.PassStub) {
	g.Beats.Renew(item, queue.Beat{Visitor: v, Generation: shown.Generation, IssuedMS: shown.IssuedMS, EndsMS: given.EndsMS})
}
