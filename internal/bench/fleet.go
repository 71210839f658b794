package bench

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/internal/childproc"
	"github.com/sluicehq/sluice/internal/redisserver"
)

// adminToken opens the admin API of the nodes that a case starts.
const adminToken = "bench-admin-token"

// secretKey signs for the nodes that a case starts; cases that put people into a line by themselves seal tickets by it.
var secretKey = base64.StdEncoding.EncodeToString([]byte(strings.Repeat("benchmark", 4)))

// fleet is a store, nodes that serve visitors and move the line, and one node that administers, all of them processes
// of their own.
type fleet struct {
	dir   string
	redis *redisserver.Server
	admin *node
	nodes []*node
	http  *http.Client
}

// node is one process.
type node struct {
	name            string
	url, admin, ops string // http://host:port
	child           *childproc.Child
	gone            atomic.Bool // refused a connection: nobody asks it again
}

// start starts a fleet of n serving nodes. The caller closes it, also after an error.
func (e *env) start(ctx context.Context, n int) (*fleet, error) {
	f := &fleet{http: &http.Client{Timeout: 10 * time.Second}}
	var err error
	if f.dir, err = os.MkdirTemp("", "sluice-bench-"); err != nil {
		return f, err
	}
	if f.redis, err = redisserver.Start(); err != nil {
		return f, err
	}
	if f.admin, err = e.node(ctx, f, "admin", "admin"); err != nil {
		return f, err
	}
	for i := range n {
		one, err := e.node(ctx, f, fmt.Sprintf("node%d", i+1), "gate,scheduler")
		if err != nil {
			return f, err
		}
		f.nodes = append(f.nodes, one)
	}
	e.say("a store, an admin node and %d serving nodes run", n)
	return f, nil
}

// node starts one process and returns when it is ready.
func (e *env) node(ctx context.Context, f *fleet, name, roles string) (*node, error) {
	var at [3]string
	for i := range at {
		var err error
		if at[i], err = redisserver.FreeAddr(); err != nil {
			return nil, err
		}
	}
	n := &node{name: name, url: "http://" + at[0], admin: "http://" + at[1], ops: "http://" + at[2]}
	args := append(e.Program[1:len(e.Program):len(e.Program)], "serve",
		"--node-id", name, "--roles", roles, "--redis-url", f.redis.URL(),
		"--listen", at[0], "--admin-listen", at[1], "--ops-listen", at[2], "--public-url", n.url,
		"--data-dir", filepath.Join(f.dir, name), "--log-level", "warn", "--log-format", "text",
		"--secret-key", secretKey,
	)
	if roles == "admin" {
		args = append(args, "--bootstrap-admin-token", adminToken)
	}
	cmd := exec.Command(e.Program[0], args...)
	cmd.Env = e.nodeEnviron()
	var err error
	if n.child, err = childproc.Start(cmd); err != nil {
		return nil, err
	}
	if err := f.ready(ctx, n); err != nil {
		n.child.Kill()
		return nil, fmt.Errorf("%s: %w: %s", name, err, n.child.Output())
	}
	return n, nil
}

// nodeEnviron is the environment of every process that a case starts.
func (e *env) nodeEnviron() (environ []string) {
	for _, v := range e.Environ {
		if !strings.HasPrefix(v, "SLUICE_") {
			environ = append(environ, v)
		}
	}
	return environ
}

// ready waits until the node says that it can serve, or has ended, or for 20 s.
func (f *fleet) ready(ctx context.Context, n *node) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		if status, _, err := f.get(ctx, n.ops+"/readyz"); err == nil && status == http.StatusOK {
			return nil
		}
		select {
		case <-n.child.Ended():
			return errors.New("ended at once")
		case <-ctx.Done():
			return errors.New("is not ready")
		case <-time.After(wait):
		}
	}
}

// close ends everything that start began.
func (f *fleet) close() {
	for _, n := range append(f.nodes, f.admin) {
		if n != nil {
			n.child.Kill()
		}
	}
	if f.redis != nil {
		f.redis.Close()
	}
	_ = os.RemoveAll(f.dir)
}
