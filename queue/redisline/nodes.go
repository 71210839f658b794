package redisline

import (
	"context"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

var nodesScript = redis.NewScript(source("nodes"))

// Nodes is the register of the living nodes, in the store.
type Nodes struct {
	client      redis.UniversalClient
	keys        []string
	node        string
	fingerprint string
	alive       time.Duration
}

// Roll is what a sign of life learns.
type Roll struct {
	Identity    string   // of the store; another one after a total loss
	Fingerprint string   // of the key that the store's nodes share
	NowMS       int64    // the store's clock
	Living      []string // ids of the nodes whose last sign of life is recent
}

// NewNodes returns the register as one node sees it. A node is alive for a time after each sign of life.
func NewNodes(client redis.UniversalClient, prefix, node, fingerprint string, alive time.Duration) *Nodes {
	tag := prefix + "{+}:"
	return &Nodes{
		client: client, keys: []string{tag + "nodes", tag + "identity", tag + "key"},
		node: node, fingerprint: fingerprint, alive: alive,
	}
}

// Beat says that this node lives, and gives the roll. One script call.
func (n *Nodes) Beat(ctx context.Context) (Roll, error) { return n.call(ctx, n.node) }

// Look gives the roll without a sign of life. One script call.
func (n *Nodes) Look(ctx context.Context) (Roll, error) { return n.call(ctx, "") }

func (n *Nodes) call(ctx context.Context, node string) (Roll, error) {
	got, err := nodesScript.Run(ctx, n.client, n.keys,
		node, strconv.FormatUint(rand.Uint64(), 36), n.fingerprint, n.alive.Milliseconds()).Slice()
	if err != nil {
		return Roll{}, Fault(err)
	}
	r := reply(got)
	roll := Roll{Identity: r.text(0), Fingerprint: r.text(1), NowMS: r.int(2)}
	for i := range r.list(3) {
		roll.Living = append(roll.Living, r.list(3).text(i))
	}
	return roll, nil
}

// Leave takes this node off the register, so that the others take over its share at once.
func (n *Nodes) Leave(ctx context.Context) error {
	return Fault(n.client.ZRem(ctx, n.keys[0], n.node).Err())
}
