package bench

import (
	"context"
	"fmt"

	"github.com/sluicehq/sluice/internal/fleet"
	"github.com/sluicehq/sluice/internal/redisserver"
)

// testbed is a store, nodes that serve visitors and move the line, and one node that administers, all of them processes
// of their own.
type testbed struct {
	*fleet.Fleet
	redis *redisserver.Server
}

// start starts a testbed of n serving nodes. The caller closes it, also after an error.
func (e *env) start(ctx context.Context, n int) (*testbed, error) {
	f := &testbed{}
	var err error
	if f.redis, err = redisserver.Start(); err != nil {
		return f, err
	}
	if f.Fleet, err = fleet.New(fleet.Options{Program: e.Program, Environ: e.Environ, RedisURL: f.redis.URL()}); err != nil {
		return f, err
	}
	if _, err = f.Start(ctx, "admin", "admin"); err != nil {
		return f, err
	}
	for i := range n {
		if _, err := e.node(ctx, f, fmt.Sprintf("node%d", i+1)); err != nil {
			return f, err
		}
	}
	e.say("a store, an admin node and %d serving nodes run", n)
	return f, nil
}

// node starts one more serving node, in this case's environment.
func (e *env) node(ctx context.Context, f *testbed, name string) (*fleet.Node, error) {
	f.Environ = e.Environ
	return f.Start(ctx, name, "gate,scheduler")
}

// close ends everything that start began.
func (f *testbed) close() {
	if f.Fleet != nil {
		f.Close()
	}
	if f.redis != nil {
		f.redis.Close()
	}
}
